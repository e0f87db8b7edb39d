// SPDX-License-Identifier: Apache-2.0
#include "lab/generate/decoder_positions.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/failure.hpp"
#include "rotary/absolute.hpp"

namespace rotary::lab {
namespace {

using cli::ok_or_fail;
using cli::value_or_fail;

// Rows as they were added in training: the encoding rounded to float, then its product with scale.
std::vector<float> sinusoidal_table(const SinusoidalEncoding& encoding, const ModelConfig& model,
                                    std::int64_t tokens) {
  SinusoidalSpec spec = transformer_sinusoidal(model.d_model);
  spec.base = encoding.base;
  std::vector<float> rows(static_cast<std::size_t>(tokens * model.d_model));
  const TokenExtents extents{.batch = 1, .tokens = tokens, .features = model.d_model};
  const TokensView view{.data = rows.data(),
                        .dtype = DType::f32,
                        .extents = extents,
                        .strides = strides_btd(extents)};
  ok_or_fail(fill_sinusoidal(view, value_or_fail(make_sinusoidal(spec)),
                             ConsecutivePositions{.tokens = tokens}));
  for (float& number : rows) number *= static_cast<float>(encoding.scale);
  return rows;
}

std::string of_layer(const char* name, std::int64_t layer) {
  return fmt::format("positions.{}_{}", name, layer);
}

}  // namespace

DecoderPositions::DecoderPositions(const Encoding& encoding, const ModelConfig& model,
                                   const Weights& weights, std::int64_t capacity)
    : model_(model) {
  if (std::holds_alternative<LearnedEncoding>(encoding.kind)) {
    learned_ = weights.at("positions.learned");
    if (capacity > model.tokens) {
      throw cli::Failure(
          cli::ExitCode::usage,
          fmt::format("{} has positions for {} tokens; prompt and text must be no longer, got {}",
                      encoding.name, model.tokens, capacity));
    }
  }
  if (const auto* sinusoidal = std::get_if<SinusoidalEncoding>(&encoding.kind))
    sines_ = sinusoidal_table(*sinusoidal, model, capacity);
  if (const auto* rotary = std::get_if<RotaryEncoding>(&encoding.kind)) {
    windows_ = rotary->layers;
    has_roles_ = rotary->spec.xpos.has_value();
    frequencies_ = value_or_fail(make_frequencies(rotary->spec, capacity), encoding.name);
  }
  if (const auto* clipped = std::get_if<ClippedAngleEncoding>(&encoding.kind)) {
    map_ = ClippedAngle{.max_angle = clipped->max_angle};
    frequencies_ = value_or_fail(make_frequencies(clipped->spec, capacity), encoding.name);
  }
  if (const auto* shaw = std::get_if<ShawEncoding>(&encoding.kind)) read_shaw(*shaw, weights);
  if (const auto* bias = std::get_if<BiasEncoding>(&encoding.kind)) read_bias(*bias, weights);
}

void DecoderPositions::read_shaw(const ShawEncoding& shaw, const Weights& weights) {
  const ShawWindow window{.left = shaw.window, .right = 0};
  for (std::int64_t layer = 0; layer < model_.layers; ++layer) {
    for (const char* name : {"shaw_keys", "shaw_values"}) {
      shaw_numbers_.push_back(weights.at(of_layer(name, layer)));
      const ConstTableView table{.data = shaw_numbers_.back().data(),
                                 .dtype = DType::f32,
                                 .rows = window.rows(),
                                 .features = model_.head_dim(),
                                 .row_stride = model_.head_dim()};
      shaw_tables_.push_back({.window = window, .table = table});
    }
  }
}

void DecoderPositions::read_bias(const BiasEncoding& bias, const Weights& weights) {
  const std::int64_t sets = shared_by_layers(bias) ? 1 : model_.layers;
  // The scale of a parameter does not depend on chance.
  const std::vector<double> scale = initial_parameters(bias, model_, [] { return 0.5; }).scale;
  for (std::int64_t set = 0; set < sets; ++set) {
    std::vector<double> numbers;
    if (!scale.empty()) {
      const auto& trained = weights.at(of_layer("bias", set));
      numbers.assign(trained.begin(), trained.end());
    }
    constrain(bias, numbers);
    for (std::size_t n = 0; n < numbers.size(); ++n) numbers[n] *= scale[n];
    bias_numbers_.push_back(std::move(numbers));
    biases_.push_back(make_bias(bias, model_, bias_numbers_.back()));
  }
}

void DecoderPositions::add_absolute(TokensView x, std::int64_t first) const {
  const std::vector<float>& rows = learned_.empty() ? sines_ : learned_;
  if (rows.empty()) return;
  const ConstTableView table{.data = rows.data(),
                             .dtype = DType::f32,
                             .rows = std::ssize(rows) / model_.d_model,
                             .features = model_.d_model,
                             .row_stride = model_.d_model};
  const TableRows chosen{.indices =
                             ConsecutivePositions{.first = first, .tokens = x.extents.tokens}};
  ok_or_fail(add_learned(x, x, {.table = table, .rows = chosen}));
}

StepRotations DecoderPositions::rotations(std::int64_t first, std::int64_t tokens) const {
  if (!frequencies_ || map_) return {};
  const auto made = [&](Role role) {
    const RotationsOptions options{.role = has_roles_ ? std::optional(role) : std::nullopt};
    return value_or_fail(make_rotations(
        *frequencies_, ConsecutivePositions{.first = first, .tokens = tokens}, options));
  };
  return {.queries = made(Role::query), .keys = made(Role::key)};
}

AttendOptions DecoderPositions::attention(std::int64_t layer) const {
  AttendOptions options{.scale = 1 / std::sqrt(static_cast<double>(model_.head_dim())),
                        .mask = {.order = AttentionOrder::causal}};
  if (windows_ && layer % windows_->full_every != 0) options.mask.left = windows_->window - 1;
  const auto index = static_cast<std::size_t>(layer);
  if (!biases_.empty()) options.encoding.bias = &biases_[biases_.size() == 1 ? 0 : index];
  if (!shaw_tables_.empty()) {
    options.encoding.shaw_keys = &shaw_tables_[2 * index];
    options.encoding.shaw_values = &shaw_tables_[2 * index + 1];
  }
  if (frequencies_) options.encoding.cached_keys = &*frequencies_;
  return options;
}

std::optional<MappedAttention> DecoderPositions::mapped_attention() const {
  if (!map_) return std::nullopt;
  return MappedAttention{.map = *map_,
                         .frequencies = &*frequencies_,
                         .attend = {.scale = 1 / std::sqrt(static_cast<double>(model_.head_dim())),
                                    .mask = {.order = AttentionOrder::causal}}};
}

}  // namespace rotary::lab
