// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "fuzz/c_abi/session.hpp"
#include "fuzz/check.hpp"
#include "rotary/spec_json.hpp"

namespace rotary::fuzz {
namespace {

constexpr std::array<std::string_view, 8> configs = {
    R"({"model_type": "llama", "head_dim": 4, "rope_theta": 1e4, "num_hidden_layers": 2})",
    R"({"model_type": "llama", "head_dim": 8, "rope_theta": 5e5, "max_position_embeddings": 64,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                         "original_max_position_embeddings": 16}})",
    R"({"model_type": "qwen2", "hidden_size": 16, "num_attention_heads": 2,
        "rope_theta": 1e6, "num_hidden_layers": 3,
        "max_position_embeddings": 32,
        "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}})",
    R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 16, "n_head": 2})",
    R"({"model_type": "gpt_neox", "hidden_size": 16, "num_attention_heads": 2, "rotary_pct": 0.5,
        "rotary_emb_base": 10000, "num_hidden_layers": 1})",
    R"({"model_type": "bloom", "n_layer": 1, "hidden_size": 16, "n_head": 2})",
    R"({"model_type": "none such", "head_dim": 4, "rope_theta": 1e4})",
    R"({"dim": 16, "n_heads": 2, "n_layers": 2, "rope_theta": 1e4})"};

constexpr std::array<std::string_view, 11> specs = {
    R"({"head_dim": 4, "base": 10000, "pairing": "half"})",
    R"({"head_dim": 6, "rotary_dim": 4, "first_feature": 1, "base": 10000,
        "pairing": "interleaved"})",
    R"({"head_dim": 4, "base": 10000, "pairing": "interleaved_to_half"})",
    R"({"head_dim": 4, "base": 10000, "pairing": "half",
        "scaling": {"rope_type": "linear", "factor": 2}})",
    R"({"head_dim": 4, "base": 10000, "pairing": "half",
        "scaling": {"rope_type": "dynamic", "factor": 2, "max_position_embeddings": 16}})",
    R"({"head_dim": 8, "base": 10000, "pairing": "half", "xpos": {"scale_base": 512}})",
    R"({"head_dim": 4, "base": 10000, "pairing": "half", "numerics": "transformers"})",
    R"({"head_dim": 4, "base": 10000, "pairing": "half", "numerics": "transformers",
        "rounding": "result"})",
    R"({"head_dim": 4, "base": 10000, "pairing": "half", "numerics": "ggml"})",
    R"({"head_dim": 3, "base": 10000, "pairing": "half"})",
    R"({"head_dim": 10, "rotary_dim": 12, "base": 10000, "pairing": "half"})"};

// Bytes without a terminator, in separate memory.
struct Text {
  std::vector<char> bytes;
  bool is_null = false;

  Text(Bytes& input, std::string_view text)
      : bytes(text.begin(), text.end()), is_null(input.once_in(64)) {
    if (bytes.empty()) bytes.push_back(' ');
  }
  [[nodiscard]] const char* pointer() const { return is_null ? nullptr : bytes.data(); }
  [[nodiscard]] std::string_view view() const { return {bytes.data(), bytes.size()}; }
};

constexpr double none = std::numeric_limits<double>::quiet_NaN();

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool same_text(const char* got, std::optional<std::string_view> wanted) {
  return wanted ? got != nullptr && *wanted == got : got == nullptr;
}

}  // namespace

std::string Session::decode_json(bool is_config) {
  std::string text(is_config ? configs[input_.byte() % configs.size()]
                             : specs[input_.byte() % specs.size()]);
  if (input_.once_in(16)) text.resize(input_.byte() * std::size_t{2} % (text.size() + 1));
  if (input_.once_in(8) && !text.empty()) {
    const std::size_t at = input_.byte() * std::size_t{2} % text.size();
    text[at] = static_cast<char>(input_.byte());
  }
  return text;
}

void Session::resolve_model() {
  const Text text(input_, decode_json(true));
  rotary_resolve_options options = ROTARY_RESOLVE_OPTIONS_INIT;
  options.pairing = static_cast<int32_t>(input_.number(0, 4));
  options.context_tokens = input_.once_in(4) ? input_.integer() : input_.number(0, 64);
  options.numerics = static_cast<int32_t>(input_.number(0, 4));
  if (input_.once_in(16)) options.part = static_cast<int32_t>(input_.number(0, 4));
  const Passed<rotary_resolve_options> passed(input_, options, optional);
  const auto given = passed.value_or_defaults(ROTARY_RESOLVE_OPTIONS_INIT);
  ResolveOptions resolving;
  auto made = make<Model>(
      !text.is_null && given,
      [&](rotary_model** out) {
        return rotary_model_resolve(text.pointer(), text.bytes.size(), passed.pointer(), out);
      },
      [&] {
        if (given->pairing != 0) resolving.pairing = static_cast<Pairing>(given->pairing);
        if (given->context_tokens != 0) resolving.context_tokens = given->context_tokens;
        if (given->numerics != 0) resolving.numerics = static_cast<Numerics>(given->numerics);
        if (given->part != 0) resolving.part = static_cast<ModelPart>(given->part);
        return resolve(text.view(), resolving);
      });
  if (!made) return;
  made->context_tokens = resolving.context_tokens;
  any_of(models_) = *std::move(made);
}

void Session::ask_model() {
  const Model& model = any_of(models_);
  const rotary_model* const handle = model.handle();
  const bool is_missing = handle == nullptr;
  const ModelSpec spec = model.twin.value_or(ModelSpec());
  const bool are_counted = rotary_model_layer_count(handle) == std::ssize(spec.layers) &&
                           rotary_model_rotary_count(handle) == std::ssize(spec.rotary) &&
                           rotary_model_warning_count(handle) == std::ssize(spec.warnings);
  check_value(are_counted, "counts", is_missing);
  ask_layers(handle, spec);
  const std::int64_t index = input_.number(-1, 3);
  const auto at = static_cast<std::size_t>(index);
  std::optional<std::string_view> warning;
  if (index >= 0 && at < spec.warnings.size()) warning = spec.warnings[at];
  check_value(same_text(rotary_model_warning(handle, index), warning), "a warning", is_missing);
  const bool has_rotary = index >= 0 && at < spec.rotary.size();
  std::optional<std::string_view> type;
  if (has_rotary && spec.rotary[at].layer_type) type = *spec.rotary[at].layer_type;
  check_value(same_text(rotary_model_layer_type(handle, index), type), "a layer type", is_missing);
  const double factor = has_rotary ? spec.rotary[at].softmax_factor : none;
  check_value(same(rotary_model_softmax_factor(handle, index), factor), "a softmax factor",
              !has_rotary);
}

void Session::ask_layers(const rotary_model* handle, const ModelSpec& spec) {
  const bool is_missing = handle == nullptr;
  const std::int64_t index = input_.number(-1, 3);
  const bool has_layer = index >= 0 && index < std::ssize(spec.layers);
  const ModelLayer layer = has_layer ? spec.layers[static_cast<std::size_t>(index)] : ModelLayer();
  std::optional<std::string_view> encoding;
  std::int64_t rotary_of_layer = -1;
  if (has_layer) {
    encoding = to_string(layer.encoding);
    rotary_of_layer = layer.encoding == LayerEncoding::rotary
                          ? static_cast<std::int64_t>(layer.rotary)
                          : -static_cast<std::int64_t>(layer.encoding);
  }
  check_value(same_text(rotary_model_layer_encoding(handle, index), encoding), "an encoding",
              is_missing);
  check_value(rotary_model_rotary_of_layer(handle, index) == rotary_of_layer,
              "a layer's rotary embedding", is_missing);
  const std::int64_t position = input_.integer();
  const bool has_factor = has_layer && position >= 0;
  const double factor = has_factor ? query_factor(layer.query_temperature, position) : none;
  check_value(same(rotary_model_query_factor(handle, index, position), factor), "a query factor",
              !has_factor);
}

void Session::make_frequencies_of_model() {
  const Model& model = any_of(models_);
  const std::int64_t index = input_.number(-1, 2);
  const bool has_rotary = model.twin && index >= 0 && index < std::ssize(model.twin->rotary);
  auto made = make<FrequenciesTwin>(
      has_rotary,
      [&](rotary_frequencies** out) {
        return rotary_frequencies_of_model(model.handle(), index, out);
      },
      [&] {
        const RotarySpec& spec = model.twin->rotary[static_cast<std::size_t>(index)].spec;
        return make_frequencies(spec, model.context_tokens);
      });
  if (made) any_of(frequencies_) = *std::move(made);
}

void Session::make_frequencies_of_spec() {
  const Text text(input_, decode_json(false));
  std::optional<std::int64_t> context;
  auto made = make<FrequenciesTwin>(
      !text.is_null,
      [&](rotary_frequencies** out) {
        if (!input_.once_in(2))
          return rotary_frequencies_of_spec(text.pointer(), text.bytes.size(), out);
        context = input_.once_in(4) ? input_.integer() : input_.number(1, 64);
        return rotary_frequencies_of_spec_in_context(text.pointer(), text.bytes.size(), *context,
                                                     out);
      },
      [&] {
        const auto spec = parse_rotary_spec(text.view());
        return spec ? make_frequencies(*spec, context) : Result<Frequencies>(spec.error());
      });
  if (made) any_of(frequencies_) = *std::move(made);
}

}  // namespace rotary::fuzz
