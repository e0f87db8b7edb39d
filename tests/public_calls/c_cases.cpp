// SPDX-License-Identifier: Apache-2.0
// The C ABI. What a C function says of a failure is a text of its own as well.
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "public_calls/cases.hpp"
#include "rotary/rotary_kv_cache.h"
#include "support/resolving.hpp"

namespace rotary::test {
namespace {

Outcome outcome_of(rotary_status status) {
  const std::string_view text = rotary_last_error();
  if (status == ROTARY_OK) return {};
  if ((status == ROTARY_OUT_OF_MEMORY) != (text == "out of memory")) {
    throw std::logic_error("a text of another error: " + std::string(text));
  }
  return {.error = static_cast<ErrorCode>(status)};
}

// For a function that says by its value that it failed, and by the text why.
Outcome outcome_of_value(bool failed) {
  if (!failed) return {};
  const std::string_view text = rotary_last_error();
  const bool memory = text == "out of memory";
  return {.error = memory ? ErrorCode::out_of_memory : ErrorCode::invalid_argument};
}

template <class Function>
Case c_case(std::string_view symbol, std::string what, Function function,
            std::vector<std::span<std::byte>> outputs = {}) {
  return {.symbol = symbol,
          .what = std::move(what),
          .call = [function](Attempt& attempt) { return outcome_of(attempt(function)); },
          .outputs = std::move(outputs)};
}

// function returns whether it failed.
template <class Function>
Case value_case(std::string_view symbol, std::string what, Function function) {
  return {.symbol = symbol, .what = std::move(what), .call = [function](Attempt& attempt) {
            return outcome_of_value(attempt(function));
          }};
}

// For a function that makes a handle: make(&handle) returns its status.
template <class Handle, class Make>
Case making(std::string_view symbol, std::string what, Make make, void (*free)(Handle*)) {
  return {.symbol = symbol, .what = std::move(what), .call = [make, free](Attempt& attempt) {
            int none = 0;
            auto* handle = reinterpret_cast<Handle*>(&none);
            const rotary_status status = attempt([&] { return make(&handle); });
            if ((status == ROTARY_OK) == (handle == nullptr)) {
              throw std::logic_error("a handle and a status that do not match");
            }
            free(handle);
            return outcome_of(status);
          }};
}

constexpr std::string_view spec = R"({"head_dim": 16, "base": 10000, "pairing": "half"})";
constexpr std::string_view bad_spec =
    R"({"head_dim": 16, "base": 10000, "pairing": ["a list", {"of": ["more", "than", "one"]}]})";

rotary_status make_frequencies_of(std::string_view text, rotary_frequencies** out) {
  return rotary_frequencies_of_spec(text.data(), text.size(), out);
}

rotary_status resolve_config(const std::string& config, rotary_model** out) {
  rotary_resolve_options options = ROTARY_RESOLVE_OPTIONS_INIT;
  options.context_tokens = 64;
  return rotary_model_resolve(config.data(), config.size(), &options, out);
}

// Handles and tensors that every case may use; they live as long as the process.
struct Objects {
  rotary_model* model = nullptr;
  rotary_frequencies* frequencies = nullptr;
  rotary_rotations* rotations = nullptr;
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  rotary_window window = ROTARY_WINDOW_INIT;
  std::vector<float> q = std::vector<float>(static_cast<std::size_t>(3 * 2 * 16), 1.5F);
  std::vector<float> cache = q;
  std::vector<std::int8_t> quantized = std::vector<std::int8_t>(q.size(), 7);
  std::vector<float> scales = std::vector<float>(6, 0.5F);
  std::vector<double> places = {0.5, 7, 9.25};

  Objects() {
    positions.tokens = 3;
    const std::string config = llama_with(R"("rope_scaling": {"type": "linear", "factor": 0.5})");
    const bool made =
        resolve_config(config, &model) == ROTARY_OK &&
        make_frequencies_of(spec, &frequencies) == ROTARY_OK &&
        rotary_rotations_make(frequencies, &positions, nullptr, &rotations) == ROTARY_OK &&
        rotary_frequencies_window(frequencies, &window) == ROTARY_OK;
    if (!made) throw std::runtime_error(rotary_last_error());
  }

  static rotary_heads_view view(std::vector<float>& elements, std::int64_t tokens = 3) {
    rotary_heads_view view = ROTARY_HEADS_VIEW_INIT;
    view.data = elements.data();
    view.dtype = ROTARY_F32;
    view.extents[1] = tokens;
    view.extents[2] = 2;
    view.extents[3] = 16;
    view.strides[1] = 32;
    view.strides[2] = 16;
    return view;
  }
};

Objects& objects() {
  static Objects all;
  return all;
}

const rotary_positions& between_integers() {
  static const rotary_positions positions = [] {
    rotary_positions listed = objects().positions;
    listed.kind = ROTARY_POSITIONS_F64;
    listed.data = objects().places.data();
    return listed;
  }();
  return positions;
}

std::vector<Case> model_functions() {
  const rotary_model* const model = objects().model;
  std::vector<Case> cases = {
      cannot_fail("rotary_abi_version", rotary_abi_version),
      cannot_fail("rotary_version", rotary_version),
      cannot_fail("rotary_status_name", [] { return rotary_status_name(ROTARY_OK); }),
      cannot_fail("rotary_last_error", rotary_last_error),
      cannot_fail("rotary_model_free", [] { return (rotary_model_free(nullptr), 0); }),
      cannot_fail("rotary_frequencies_free", [] { return (rotary_frequencies_free(nullptr), 0); }),
      cannot_fail("rotary_rotations_free", [] { return (rotary_rotations_free(nullptr), 0); }),
  };
  for (const std::string& config :
       {llama_with(""), model_with("gemma3_text"),
        std::string(R"({"dim": 64, "n_heads": 1, "model_type": "transformer", "a": [[{}]]})"),
        std::string(R"({"a": [[{"b": [{"c": {"d": "a long text, it is long"}}]}]])")}) {
    cases.push_back(making<rotary_model>(
        "rotary_model_resolve", config,
        [config](rotary_model** out) { return resolve_config(config, out); }, rotary_model_free));
  }
  // The first time with a handle, then without: an error, which has a text to be made.
  for (const rotary_model* of : {model, static_cast<const rotary_model*>(nullptr)}) {
    const std::string what = of == nullptr ? "NULL" : "";
    const auto add = [&](std::string_view symbol, auto function) {
      cases.push_back(value_case(symbol, what, [=] { return function(of); }));
    };
    add("rotary_model_layer_count", [](auto* m) { return rotary_model_layer_count(m) == 0; });
    add("rotary_model_rotary_count", [](auto* m) { return rotary_model_rotary_count(m) == 0; });
    add("rotary_model_rotary_of_layer",
        [](auto* m) { return rotary_model_rotary_of_layer(m, 0) == -1; });
    add("rotary_model_layer_encoding",
        [](auto* m) { return rotary_model_layer_encoding(m, 0) == nullptr; });
    add("rotary_model_query_factor",
        [](auto* m) { return std::isnan(rotary_model_query_factor(m, 0, 1)); });
    add("rotary_model_layer_type", [](auto* m) {
      return rotary_model_layer_type(m, 0) == nullptr && m == nullptr;  // of all layers: NULL
    });
    add("rotary_model_softmax_factor",
        [](auto* m) { return std::isnan(rotary_model_softmax_factor(m, 0)); });
    add("rotary_model_warning_count", [](auto* m) { return rotary_model_warning_count(m) == 0; });
    add("rotary_model_warning", [](auto* m) { return rotary_model_warning(m, 0) == nullptr; });
    cases.push_back(making<rotary_frequencies>(
        "rotary_frequencies_of_model", what,
        [of](rotary_frequencies** out) { return rotary_frequencies_of_model(of, 0, out); },
        rotary_frequencies_free));
  }
  return cases;
}

std::vector<Case> frequency_functions() {
  std::vector<Case> cases;
  for (const std::string_view text : {spec, bad_spec}) {
    cases.push_back(making<rotary_frequencies>(
        "rotary_frequencies_of_spec", std::string(text),
        [text](rotary_frequencies** out) { return make_frequencies_of(text, out); },
        rotary_frequencies_free));
    cases.push_back(making<rotary_frequencies>(
        "rotary_frequencies_of_spec_in_context", std::string(text),
        [text](rotary_frequencies** out) {
          return rotary_frequencies_of_spec_in_context(text.data(), text.size(), 64, out);
        },
        rotary_frequencies_free));
  }
  static constexpr std::array<double, 9> inv_freq = {1, 0.5};
  for (const std::size_t count : {8, 9}) {  // one for each pair, and one too many
    cases.push_back(making<rotary_frequencies>(
        "rotary_frequencies_of_inv_freq", std::to_string(count),
        [count](rotary_frequencies** out) {
          return rotary_frequencies_of_inv_freq(&objects().window, inv_freq.data(), count, 1, out);
        },
        rotary_frequencies_free));
  }
  const rotary_frequencies* const frequencies = objects().frequencies;
  for (const rotary_frequencies* of :
       {frequencies, static_cast<const rotary_frequencies*>(nullptr)}) {
    const std::string what = of == nullptr ? "NULL" : "";
    const auto ends = std::make_shared<std::vector<std::int64_t>>(2);
    const auto window = std::make_shared<std::vector<rotary_window>>(1, objects().window);
    cases.push_back(
        c_case("rotary_frequencies_contexts", what,
               [=] { return rotary_frequencies_contexts(of, &(*ends)[0], &(*ends)[1]); },
               {bytes_of(*ends)}));
    cases.push_back(c_case("rotary_frequencies_window", what,
                           [=] { return rotary_frequencies_window(of, window->data()); },
                           {bytes_of(*window)}));
    cases.push_back(value_case("rotary_frequencies_alike", what,
                               [=] { return rotary_frequencies_alike(of, frequencies) == -1; }));
    cases.push_back(value_case("rotary_frequencies_attention_factor", what, [=] {
      return std::isnan(rotary_frequencies_attention_factor(of));
    }));
    cases.push_back(value_case("rotary_frequencies_inv_freq", what,
                               [=] { return rotary_frequencies_inv_freq(of) == nullptr; }));
  }
  return cases;
}

// Remade of rotations of one token, which is less than they need.
Case remaking(const rotary_frequencies* of, const std::string& what) {
  return {.symbol = "rotary_rotations_remake", .what = what, .call = [of](Attempt& attempt) {
            rotary_positions one = objects().positions;
            one.tokens = 1;
            rotary_rotations* rotations = nullptr;
            rotary_rotations_make(objects().frequencies, &one, nullptr, &rotations);
            const rotary_status status = attempt(
                [&] { return rotary_rotations_remake(rotations, of, &objects().positions); });
            rotary_rotations_free(rotations);
            return outcome_of(status);
          }};
}

Case remaking_a_shift(const rotary_rotated_at& from, const rotary_rotated_at& to,
                      const std::string& what) {
  return {.symbol = "rotary_shift_remake", .what = what, .call = [from, to](Attempt& attempt) {
            rotary_rotations* rotations = nullptr;
            rotary_rotated_at here = to;
            here.frequencies = objects().frequencies;
            rotary_shift_make(&here, &here, nullptr, &rotations);
            const rotary_status status =
                attempt([&] { return rotary_shift_remake(rotations, &from, &to); });
            rotary_rotations_free(rotations);
            return outcome_of(status);
          }};
}

std::vector<Case> rotations_of_frequencies() {
  std::vector<Case> cases;
  const rotary_frequencies* const made = objects().frequencies;
  for (const rotary_frequencies* of : {made, static_cast<const rotary_frequencies*>(nullptr)}) {
    const std::string what = of == nullptr ? "NULL" : "";
    const rotary_rotated_at from = {sizeof(rotary_rotated_at), of, &between_integers()};
    const rotary_rotated_at to = {sizeof(rotary_rotated_at), of, &objects().positions};
    cases.push_back(making<rotary_rotations>(
        "rotary_rotations_make", what,
        [=](rotary_rotations** out) {
          return rotary_rotations_make(of, &objects().positions, nullptr, out);
        },
        rotary_rotations_free));
    cases.push_back(making<rotary_rotations>(
        "rotary_shift_make", what,
        [=](rotary_rotations** out) { return rotary_shift_make(&from, &to, nullptr, out); },
        rotary_rotations_free));
    cases.push_back(remaking(of, what));
    cases.push_back(remaking_a_shift(from, to, what));
  }
  return cases;
}

std::vector<Case> rows_of_others() {
  std::vector<Case> cases;
  for (const double factor : {1.0, 3.0}) {
    static const std::vector<float> halves(24, 0.70710678F);
    rotary_cos_sin rows = ROTARY_COS_SIN_INIT;
    rows.cos = rows.sin = halves.data();
    rows.dtype = ROTARY_F32;
    rows.tokens = 3;
    rows.token_stride = 8;
    rows.attention_factor = factor;
    cases.push_back(making<rotary_rotations>(
        "rotary_rotations_of_cos_sin", std::to_string(factor),
        [=](rotary_rotations** out) {
          return rotary_rotations_of_cos_sin(&objects().window, &rows, nullptr, out);
        },
        rotary_rotations_free));
  }
  const rotary_rotations* const rotations = objects().rotations;
  for (const rotary_rotations* of : {rotations, static_cast<const rotary_rotations*>(nullptr)}) {
    const std::string what = of == nullptr ? "NULL" : "";
    const auto rows = std::make_shared<std::vector<rotary_cos_sin>>(1);
    rows->front().struct_size = sizeof(rotary_cos_sin);
    cases.push_back(c_case("rotary_rotations_rows", what,
                           [=] { return rotary_rotations_rows(of, rows->data()); },
                           {bytes_of(*rows)}));
  }
  for (const std::int64_t tokens : {3, -1}) {
    const auto bytes = std::make_shared<std::vector<std::size_t>>(1);
    cases.push_back(c_case(
        "rotary_row_bytes", std::to_string(tokens),
        [=] { return rotary_row_bytes(&objects().window, 1, tokens, ROTARY_F32, bytes->data()); },
        {bytes_of(*bytes)}));
  }
  return cases;
}

// Tensors of as many tokens as the rotations have, then of fewer: refused.
std::vector<Case> rotating_functions() {
  Objects& all = objects();
  std::vector<Case> cases;
  for (const std::int64_t tokens : {3, 2}) {
    const std::string what = std::to_string(tokens) + " tokens";
    const rotary_heads_view q = Objects::view(all.q, tokens);
    const rotary_heads_view cached = Objects::view(all.cache, 3);
    const std::vector<std::span<std::byte>> outputs = {bytes_of(all.q), bytes_of(all.cache)};
    const auto add = [&](std::string_view symbol, auto function) {
      cases.push_back(c_case(
          symbol, what, [=, views = std::pair(q, cached)] { return function(views); }, outputs));
    };
    add("rotary_rotate", [](const auto& views) {
      return rotary_rotate(&views.first, &views.first, objects().rotations, nullptr);
    });
    add("rotary_rotate_qk", [](const auto& views) {
      return rotary_rotate_qk(&views.first, &views.second, objects().rotations, nullptr);
    });
    add("rotary_shift", [](const auto& views) {
      return rotary_shift(&views.first, views.first.extents[1] == 3 ? objects().rotations : nullptr,
                          nullptr);
    });
    add("rotary_append", [](const auto& views) {
      const rotary_kv from = {sizeof(rotary_kv), &views.first, nullptr};
      const rotary_kv to = {sizeof(rotary_kv), &views.second, nullptr};
      const rotary_slots slots = ROTARY_SLOTS_INIT;
      return rotary_append(&to, &from, &slots, objects().rotations, nullptr);
    });
    add("rotary_append_unrotated", [](const auto& views) {
      const rotary_kv from = {sizeof(rotary_kv), &views.first, nullptr};
      const rotary_kv to = {sizeof(rotary_kv), &views.second, nullptr};
      rotary_slots slots = ROTARY_SLOTS_INIT;
      slots.first = views.first.extents[1] == 3 ? 0 : 2;
      return rotary_append_unrotated(&to, &from, &slots, nullptr);
    });
  }
  return cases;
}

std::vector<Case> other_tensor_functions() {
  Objects& all = objects();
  std::vector<Case> cases;
  for (const std::int64_t tokens : {3, 2}) {
    const std::string what = std::to_string(tokens) + " tokens";
    const rotary_heads_view q = Objects::view(all.q, tokens);
    cases.push_back(c_case("rotary_normalize_heads", what,
                           [=] {
                             rotary_head_norm norm = ROTARY_HEAD_NORM_INIT;
                             norm.epsilon = tokens == 3 ? 1e-6 : 0;
                             norm.over = ROTARY_NORM_OVER_EACH_HEAD;
                             return rotary_normalize_heads(&q, &q, &norm, nullptr);
                           },
                           {bytes_of(all.q)}));
    cases.push_back(
        c_case("rotary_shift_int8", what,
               [=] {
                 rotary_int8_view view = ROTARY_INT8_VIEW_INIT;
                 view.data = objects().quantized.data();
                 view.scales = objects().scales.data();
                 std::copy(std::begin(q.extents), std::end(q.extents), std::begin(view.extents));
                 std::copy(std::begin(q.strides), std::end(q.strides), std::begin(view.strides));
                 view.scale_strides[1] = 2;
                 view.scale_strides[2] = 1;
                 return rotary_shift_int8(&view, objects().rotations, nullptr);
               },
               {bytes_of(all.quantized), bytes_of(all.scales)}));
  }
  return cases;
}

}  // namespace

std::vector<Case> c_cases() {
  std::vector<Case> cases = {
      value_case("rotary_instruction_set", "", [] { return rotary_instruction_set() == nullptr; }),
      {.symbol = "rotary_force_instruction_set", .what = {}, .call = [](Attempt& attempt) {
         const rotary_status status =
             attempt([] { return rotary_force_instruction_set("a set that no machine has"); });
         return outcome_of(status);
       }}};
  for (const auto& more : {model_functions(), frequency_functions(), rotations_of_frequencies(),
                           rows_of_others(), rotating_functions(), other_tensor_functions()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  return cases;
}

}  // namespace rotary::test
