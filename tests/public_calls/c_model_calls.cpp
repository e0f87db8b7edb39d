// SPDX-License-Identifier: Apache-2.0
// The C ABI's models and frequencies.
#include "public_calls/c_call.hpp"
#include "support/gguf_bytes.hpp"
#include "support/resolving.hpp"

namespace rotary::test {
namespace {

rotary_status resolve_config(const std::string& config, rotary_model** out) {
  rotary_resolve_options options = ROTARY_RESOLVE_OPTIONS_INIT;
  options.context_tokens = 64;
  return rotary_model_resolve(config.data(), config.size(), &options, out);
}

rotary_status resolve_gguf_file(const std::string& bytes, rotary_model** out) {
  rotary_byte_source source = ROTARY_BYTE_SOURCE_INIT;
  source.context = const_cast<char*>(bytes.data());
  source.size_bytes = bytes.size();
  return rotary_model_resolve_gguf(&source, nullptr, out);
}

const rotary_model* model_of_gguf() {
  static const rotary_model* const made = [] {
    rotary_model* out = nullptr;
    if (resolve_gguf_file(GgufFile::small("llama").bytes(), &out) != ROTARY_OK)
      throw std::runtime_error(rotary_last_error());
    return out;
  }();
  return made;
}

// Lives as long as the process.
const rotary_model* model_with_warning() {
  static const rotary_model* const made = [] {
    rotary_model* out = nullptr;
    const std::string config = llama_with(R"("rope_scaling": {"type": "linear", "factor": 0.5})");
    if (resolve_config(config, &out) != ROTARY_OK) throw std::runtime_error(rotary_last_error());
    return out;
  }();
  return made;
}

Calls resolving_calls() {
  Calls calls;
  const std::string tower = R"({"model_type": "qwen2_vl", "vision_config": {"depth": 1}})";
  calls.push_back(without_sizes("rotary_model_resolve", tower, [tower] {
    rotary_resolve_options options = ROTARY_RESOLVE_OPTIONS_INIT;
    options.part = ROTARY_PART_VISION;
    return outcome_of_making<rotary_model>([&](rotary_model** out) {
      return rotary_model_resolve(tower.data(), tower.size(), &options, out);
    });
  }));
  for (const std::string& config :
       {llama_with(""), model_with("gemma3_text"),
        std::string(R"({"dim": 64, "n_heads": 1, "model_type": "transformer", "a": [[{}]]})"),
        std::string(R"({"a": [[{"b": [{"c": {"d": "a long text, it is long"}}]}]])")}) {
    calls.push_back(without_sizes("rotary_model_resolve", config, [config] {
      return outcome_of_making<rotary_model>(
          [&](rotary_model** out) { return resolve_config(config, out); });
    }));
  }
  return calls;
}

// function(model) returns whether it failed.
using Failed = bool (*)(const rotary_model*);
constexpr std::pair<std::string_view, Failed> questions[] = {
    {"rotary_model_layer_count", [](auto* m) { return rotary_model_layer_count(m) == 0; }},
    {"rotary_model_rotary_count", [](auto* m) { return rotary_model_rotary_count(m) == 0; }},
    {"rotary_model_rotary_of_layer",
     [](auto* m) { return rotary_model_rotary_of_layer(m, 0) == -1; }},
    {"rotary_model_layer_encoding",
     [](auto* m) { return rotary_model_layer_encoding(m, 0) == nullptr; }},
    {"rotary_model_query_factor",
     [](auto* m) { return std::isnan(rotary_model_query_factor(m, 0, 1)); }},
    // NULL means all layers.
    {"rotary_model_layer_type",
     [](auto* m) { return rotary_model_layer_type(m, 0) == nullptr && m == nullptr; }},
    {"rotary_model_softmax_factor",
     [](auto* m) { return std::isnan(rotary_model_softmax_factor(m, 0)); }},
    {"rotary_model_warning_count", [](auto* m) { return rotary_model_warning_count(m) == 0; }},
    {"rotary_model_warning", [](auto* m) { return rotary_model_warning(m, 0) == nullptr; }},
};

constexpr std::pair<std::string_view, Failed> questions_of_gguf[] = {
    {"rotary_model_checkpoint_pairing",
     [](auto* m) { return rotary_model_checkpoint_pairing(m) == 0; }},
    {"rotary_model_unstated_count", [](auto* m) { return rotary_model_unstated_count(m) == 0; }},
    {"rotary_model_unstated", [](auto* m) { return rotary_model_unstated(m, 0) == nullptr; }},
};

Calls gguf_calls() {
  Calls calls;
  for (const std::string& bytes :
       {GgufFile::small("llama").tensor("rope_freqs.weight", std::vector<float>(32, 2.0F)).bytes(),
        GgufFile::small("an architecture that nobody knows").bytes()}) {
    calls.push_back(without_sizes("rotary_model_resolve_gguf", bytes.substr(0, 4), [bytes] {
      return outcome_of_making<rotary_model>(
          [&](rotary_model** out) { return resolve_gguf_file(bytes, out); });
    }));
  }
  for_handle_and_null(model_of_gguf(), [&](const rotary_model* of, std::string_view what) {
    for (const auto& [symbol, failed] : questions_of_gguf) {
      calls.push_back(without_sizes(
          symbol, what, [failed = failed, of] { return outcome_of_value(failed(of)); }));
    }
  });
  return calls;
}

Calls model_questions() {
  Calls calls;
  for_handle_and_null(model_with_warning(), [&](const rotary_model* of, std::string_view what) {
    for (const auto& [symbol, failed] : questions) {
      calls.push_back(without_sizes(
          symbol, what, [failed = failed, of] { return outcome_of_value(failed(of)); }));
    }
    calls.push_back(without_sizes("rotary_frequencies_of_model", what, [of] {
      return outcome_of_making<rotary_frequencies>(
          [of](rotary_frequencies** out) { return rotary_frequencies_of_model(of, 0, out); });
    }));
  });
  return calls;
}

Calls frequencies_of_others() {
  Calls calls;
  for (const std::string_view text :
       {R"({"head_dim": 16, "base": 10000, "pairing": "half"})",
        R"({"head_dim": 16, "base": 10000, "pairing": ["a list", {"of": ["more than", 1]}]})"}) {
    calls.push_back(without_sizes("rotary_frequencies_of_spec", text, [text] {
      return outcome_of_making<rotary_frequencies>(
          [text](rotary_frequencies** out) { return make_frequencies_of(text, out); });
    }));
    calls.push_back(without_sizes("rotary_frequencies_of_spec_in_context", text, [text] {
      return outcome_of_making<rotary_frequencies>([text](rotary_frequencies** out) {
        return rotary_frequencies_of_spec_in_context(text.data(), text.size(), 64, out);
      });
    }));
  }
  for (const std::size_t count : {8U, 9U}) {  // one for each pair, and one too many
    calls.push_back(without_sizes("rotary_frequencies_of_inv_freq", std::to_string(count), [count] {
      return outcome_of_making<rotary_frequencies>([count](rotary_frequencies** out) {
        const rotary_window window = c_window();
        const std::span<double> list = numbers<double>(9);
        return rotary_frequencies_of_inv_freq(&window, list.data(), count, 1, out);
      });
    }));
  }
  for (const std::int64_t axes : {1, 2, 9}) {
    calls.push_back(without_sizes("rotary_frequencies_of_axes", std::to_string(axes), [axes] {
      return outcome_of_making<rotary_frequencies>([axes](rotary_frequencies** out) {
        const rotary_window window = c_window();
        rotary_axis_frequencies from = ROTARY_AXIS_FREQUENCIES_INIT;
        from.axes = axes;
        from.inv_freq = numbers<double>(16).data();
        from.count = axes == 1 ? 8 : 16;  // dense
        return rotary_frequencies_of_axes(&window, &from, out);
      });
    }));
  }
  return calls;
}

Calls frequencies_questions() {
  Calls calls;
  const rotary_frequencies* const other = c_frequencies();
  calls.push_back(without_sizes("rotary_frequencies_pair_axes", "of two axes", [] {
    static constexpr std::string_view spec =
        R"({"head_dim": 16, "base": 10000, "pairing": "half",
            "axes": {"pairs": [3, 5], "exponents": "own"}})";
    return with_made<rotary_frequencies>(
        [](rotary_frequencies** out) { return make_frequencies_of(spec, out); },
        [](rotary_frequencies* of) {
          return outcome_of_value(rotary_frequencies_pair_axes(of) == nullptr);
        });
  }));
  calls.push_back(without_sizes("rotary_frequencies_pair_axes", "null", [] {
    return outcome_of_value(rotary_frequencies_pair_axes(nullptr) == nullptr);
  }));
  for_handle_and_null(other, [&](const rotary_frequencies* of, std::string_view what) {
    calls.push_back(without_sizes("rotary_frequencies_contexts", what, [of] {
      const std::span<std::int64_t> ends = numbers<std::int64_t>(2);
      return outcome_of_c(rotary_frequencies_contexts(of, &ends[0], &ends[1]));
    }));
    calls.push_back(without_sizes("rotary_frequencies_window", what, [of] {
      return outcome_of_c(rotary_frequencies_window(of, &operand(c_window())));
    }));
    calls.push_back(without_sizes("rotary_frequencies_alike", what, [of, other] {
      return outcome_of_value(rotary_frequencies_alike(of, other) == -1);
    }));
    calls.push_back(without_sizes("rotary_frequencies_attention_factor", what, [of] {
      return outcome_of_value(std::isnan(rotary_frequencies_attention_factor(of)));
    }));
    calls.push_back(without_sizes("rotary_frequencies_inv_freq", what, [of] {
      return outcome_of_value(rotary_frequencies_inv_freq(of) == nullptr);
    }));
    calls.push_back(without_sizes("rotary_frequencies_axes", what, [of] {
      return outcome_of_value(rotary_frequencies_axes(of) == 0);
    }));
  });
  return calls;
}

}  // namespace

Calls c_model_calls() {
  Calls calls = {
      without_sizes("rotary_abi_version", "", rotary_abi_version),
      without_sizes("rotary_version", "", rotary_version),
      without_sizes("rotary_status_name", "", [] { return rotary_status_name(ROTARY_OK); }),
      without_sizes("rotary_last_error", "", rotary_last_error),
      without_sizes("rotary_model_free", "", [] { return (rotary_model_free(nullptr), 0); }),
      without_sizes("rotary_frequencies_free", "",
                    [] { return (rotary_frequencies_free(nullptr), 0); }),
      without_sizes("rotary_rotations_free", "",
                    [] { return (rotary_rotations_free(nullptr), 0); }),
      without_sizes("rotary_instruction_set", "",
                    [] { return outcome_of_value(rotary_instruction_set() == nullptr); }),
      without_sizes(
          "rotary_force_instruction_set", "that is in use",
          [] { return outcome_of_c(rotary_force_instruction_set(rotary_instruction_set())); }),
      without_sizes("rotary_force_instruction_set", "that there is none of", [] {
        return outcome_of_c(rotary_force_instruction_set("a set that no machine has"));
      })};
  for (const auto more : {resolving_calls, gguf_calls, model_questions, frequencies_of_others,
                          frequencies_questions}) {
    add(calls, more());
  }
  return calls;
}

}  // namespace rotary::test
