// SPDX-License-Identifier: Apache-2.0
// Calls of the C ABI: models and frequencies.
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

Calls resolving_calls() {
  const std::string tower = R"({"model_type": "qwen2_vl", "vision_config": {"depth": 1}})";
  Calls calls = {{"rotary_model_resolve", tower, making<rotary_model>([tower](Sizes, auto** out) {
                    rotary_resolve_options options = ROTARY_RESOLVE_OPTIONS_INIT;
                    options.part = ROTARY_PART_VISION;
                    return rotary_model_resolve(tower.data(), tower.size(), &options, out);
                  })}};
  for (const std::string& config :
       {llama_with(""), model_with("gemma3_text"),
        std::string(R"({"dim": 64, "n_heads": 1, "model_type": "transformer", "a": [[{}]]})"),
        std::string(R"({"a": [[{"b": [{"c": {"d": "a long text, it is long"}}]}]])")}) {
    calls.emplace_back(
        "rotary_model_resolve", config,
        making<rotary_model>([config](Sizes, auto** out) { return resolve_config(config, out); }));
  }
  for (const std::string& bytes :
       {GgufFile::small("llama").tensor("rope_freqs.weight", std::vector<float>(32, 2.0F)).bytes(),
        GgufFile::small("an architecture that nobody knows").bytes()}) {
    calls.emplace_back(
        "rotary_model_resolve_gguf", bytes.substr(0, 4),
        making<rotary_model>([bytes](Sizes, auto** out) { return resolve_gguf_file(bytes, out); }));
  }
  return calls;
}

// failed(model) calls the function and returns whether it failed.
struct Question {
  std::string_view symbol;
  bool (*failed)(const rotary_model*);
};
constexpr Question questions[] = {
    {"rotary_model_layer_count", [](auto* m) { return rotary_model_layer_count(m) == 0; }},
    {"rotary_model_rotary_count", [](auto* m) { return rotary_model_rotary_count(m) == 0; }},
    {"rotary_model_rotary_of_layer",
     [](auto* m) { return rotary_model_rotary_of_layer(m, 0) == -1; }},
    {"rotary_model_layer_encoding",
     [](auto* m) { return rotary_model_layer_encoding(m, 0) == nullptr; }},
    {"rotary_model_query_factor",
     [](auto* m) { return std::isnan(rotary_model_query_factor(m, 0, 1)); }},
    // For a model, NULL is no failure: it means all layers.
    {"rotary_model_layer_type",
     [](auto* m) { return rotary_model_layer_type(m, 0) == nullptr && m == nullptr; }},
    {"rotary_model_softmax_factor",
     [](auto* m) { return std::isnan(rotary_model_softmax_factor(m, 0)); }},
    {"rotary_model_warning_count", [](auto* m) { return rotary_model_warning_count(m) == 0; }},
    {"rotary_model_warning", [](auto* m) { return rotary_model_warning(m, 0) == nullptr; }},
};
constexpr Question questions_of_gguf[] = {
    {"rotary_model_checkpoint_pairing",
     [](auto* m) { return rotary_model_checkpoint_pairing(m) == 0; }},
    {"rotary_model_unstated_count", [](auto* m) { return rotary_model_unstated_count(m) == 0; }},
    {"rotary_model_unstated", [](auto* m) { return rotary_model_unstated(m, 0) == nullptr; }},
};

void ask(Calls& calls, const rotary_model* model, std::span<const Question> all) {
  for_handle_and_null(model, [&](auto* of, auto what) {
    for (const Question& each : all) {
      calls.emplace_back(each.symbol, what,
                         [each, of] { return outcome_of_value(each.failed(of)); });
    }
  });
}

Calls model_questions() {
  static const auto* const with_warning = made_once<rotary_model>([](auto** out) {
    return resolve_config(llama_with(R"("rope_scaling": {"type": "linear", "factor": 0.5})"), out);
  });
  static const auto* const of_gguf = made_once<rotary_model>(
      [](auto** out) { return resolve_gguf_file(GgufFile::small("llama").bytes(), out); });
  Calls calls;
  ask(calls, with_warning, questions);
  ask(calls, of_gguf, questions_of_gguf);
  for_handle_and_null(with_warning, [&](auto* of, auto what) {
    calls.emplace_back("rotary_frequencies_of_model", what,
                       making<rotary_frequencies>([of](Sizes, auto** out) {
                         return rotary_frequencies_of_model(of, 0, out);
                       }));
  });
  return calls;
}

Calls frequencies_of_others() {
  Calls calls;
  const auto add = [&](std::string_view symbol, std::string_view what, auto make) {
    calls.emplace_back(symbol, what,
                       making<rotary_frequencies>([make](Sizes, auto** out) { return make(out); }));
  };
  constexpr std::string_view nested =
      R"({"head_dim": 16, "base": 10000, "pairing": ["a list", {"of": ["more than", 1]}]})";
  for (const std::string_view text : {spec_of_16, nested}) {
    add("rotary_frequencies_of_spec", text,
        [text](auto** out) { return make_frequencies_of(text, out); });
    add("rotary_frequencies_of_spec_in_context", text, [text](auto** out) {
      return rotary_frequencies_of_spec_in_context(text.data(), text.size(), 64, out);
    });
  }
  for (const std::size_t count : {8U, 9U}) {  // one for each pair, and one too many
    add("rotary_frequencies_of_inv_freq", std::to_string(count), [count](auto** out) {
      const double* const list = numbers<double>(9).data();
      return rotary_frequencies_of_inv_freq(at(c_window()), list, count, 1, out);
    });
  }
  for (const std::int64_t axes : {1, 2, 9}) {
    add("rotary_frequencies_of_axes", std::to_string(axes), [axes](auto** out) {
      rotary_axis_frequencies from = ROTARY_AXIS_FREQUENCIES_INIT;
      from.axes = axes;
      from.inv_freq = numbers<double>(16).data();
      from.count = axes == 1 ? 8 : 16;  // dense
      return rotary_frequencies_of_axes(at(c_window()), &from, out);
    });
  }
  return calls;
}

constexpr std::string_view two_axes = R"({"head_dim": 16, "base": 10000, "pairing": "half",)"
                                      R"( "axes": {"pairs": [3, 5], "exponents": "own"}})";

Calls frequencies_questions() {
  const auto pair_axes = [](const rotary_frequencies* of) {
    return outcome_of_value(rotary_frequencies_pair_axes(of) == nullptr);
  };
  Calls calls = {{"rotary_frequencies_pair_axes", "null", [=] { return pair_axes(nullptr); }},
                 {"rotary_frequencies_pair_axes", "of two axes", [=] {
                    return with_made<rotary_frequencies>(
                        [](auto** out) { return make_frequencies_of(two_axes, out); }, pair_axes);
                  }}};
  for_handle_and_null(c_frequencies(), [&](auto* of, auto what) {
    const Adding add{calls, std::string(what)};
    add("rotary_frequencies_contexts", [of] {
      const std::span<std::int64_t> ends = numbers<std::int64_t>(2);
      return outcome_of_c(rotary_frequencies_contexts(of, &ends[0], &ends[1]));
    });
    add("rotary_frequencies_window",
        [of] { return outcome_of_c(rotary_frequencies_window(of, &operand(c_window()))); });
    add("rotary_frequencies_alike",
        [of] { return outcome_of_value(rotary_frequencies_alike(of, c_frequencies()) == -1); });
    add("rotary_frequencies_attention_factor",
        [of] { return outcome_of_value(std::isnan(rotary_frequencies_attention_factor(of))); });
    add("rotary_frequencies_inv_freq",
        [of] { return outcome_of_value(rotary_frequencies_inv_freq(of) == nullptr); });
    add("rotary_frequencies_axes",
        [of] { return outcome_of_value(rotary_frequencies_axes(of) == 0); });
  });
  return calls;
}

}  // namespace

Calls c_model_calls() {
  Calls calls = {
      {"rotary_abi_version", rotary_abi_version},
      {"rotary_version", rotary_version},
      {"rotary_status_name", [] { return rotary_status_name(ROTARY_OK); }},
      {"rotary_last_error", rotary_last_error},
      {"rotary_model_free", [] { return (rotary_model_free(nullptr), 0); }},
      {"rotary_frequencies_free", [] { return (rotary_frequencies_free(nullptr), 0); }},
      {"rotary_rotations_free", [] { return (rotary_rotations_free(nullptr), 0); }},
      {"rotary_instruction_set",
       [] { return outcome_of_value(rotary_instruction_set() == nullptr); }},
      {"rotary_force_instruction_set", "the set in use",
       [] { return outcome_of_c(rotary_force_instruction_set(rotary_instruction_set())); }},
      {"rotary_force_instruction_set", "an unknown set",
       [] { return outcome_of_c(rotary_force_instruction_set("a set that no machine has")); }}};
  for (const auto more :
       {resolving_calls, model_questions, frequencies_of_others, frequencies_questions}) {
    add(calls, more());
  }
  return calls;
}

}  // namespace rotary::test
