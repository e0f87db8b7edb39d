// SPDX-License-Identifier: Apache-2.0

#include "lab/generate/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apps/failure.hpp"
#include "rotary/absolute.hpp"
#include "rotary/attention.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/position_maps.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::lab {

namespace {

using cli::ok_or_fail;
using cli::value_or_fail;

// Rows as added in training: the encoding rounded to float, then multiplied by scale.
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
  // Parameter scales do not depend on random numbers.
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

namespace {

using cli::ok_or_fail;

const ModelConfig& checked(const ModelConfig& model) {
  const bool fits = is_causal(model.task) && model.attention == AttentionKind::softmax;
  if (fits) return model;
  throw cli::Failure(
      cli::ExitCode::unsupported,
      fmt::format("text is generated by causal models with softmax attention, got {} with {}",
                  to_string(model.task), to_string(model.attention)));
}

Linear linear(const Weights& weights, const std::string& name) {
  return {weights.at(name + ".weight"), weights.at(name + ".bias")};
}

LayerNorm layer_norm(const Weights& weights, const std::string& name) {
  return {weights.at(name + ".weight"), weights.at(name + ".bias")};
}

// Heads of tokens that are `stride` numbers apart.
HeadsView heads_of(float* data, const Extents& extents, std::int64_t stride) {
  return {.data = data,
          .dtype = DType::f32,
          .extents = extents,
          .strides = {.batch = extents.tokens * stride, .token = stride, .head = extents.features}};
}

std::span<float> row(std::span<float> rows, std::int64_t index, std::int64_t width) {
  return rows.subspan(static_cast<std::size_t>(index * width), static_cast<std::size_t>(width));
}

void add(std::span<float> x, std::span<const float> more) {
  std::ranges::transform(x, more, x.begin(), std::plus());
}

}  // namespace

Decoder::Layer Decoder::make_layer(const Weights& weights, std::int64_t index,
                                   std::int64_t cached) {
  const std::string name = fmt::format("layer_{}.", index);
  const auto numbers = static_cast<std::size_t>(cached);
  return {.attention_norm = layer_norm(weights, name + "attention_norm"),
          .qkv = linear(weights, name + "qkv"),
          .attention_out = linear(weights, name + "attention_out"),
          .feed_forward_norm = layer_norm(weights, name + "feed_forward_norm"),
          .up = linear(weights, name + "up"),
          .down = linear(weights, name + "down"),
          .keys = std::vector<float>(numbers),
          .values = std::vector<float>(numbers)};
}

Decoder::Decoder(const Encoding& encoding, const ModelConfig& model, const Weights& weights,
                 std::int64_t capacity)
    : model_(checked(model)),
      capacity_(capacity),
      positions_(encoding, model, weights, capacity),
      tokens_(weights.at("tokens.weight")),
      norm_(layer_norm(weights, "norm")),
      logits_(linear(weights, "logits")) {
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    layers_.push_back(make_layer(weights, layer, capacity * model.d_model));
}

std::vector<float> Decoder::feed(std::span<const std::int64_t> tokens) {
  const std::int64_t d_model = model_.d_model;
  std::vector<float> x;
  for (const std::int64_t token : tokens) {
    const auto embedding = row(tokens_, token, d_model);
    x.insert(x.end(), embedding.begin(), embedding.end());
  }
  const TokenExtents extents{.batch = 1, .tokens = std::ssize(tokens), .features = d_model};
  positions_.add_absolute(
      {.data = x.data(), .dtype = DType::f32, .extents = extents, .strides = strides_btd(extents)},
      size_);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    attend_in(layers_[layer], x, static_cast<std::int64_t>(layer));
    feed_forward(layers_[layer], x, d_model);
  }
  size_ += std::ssize(tokens);
  std::vector<float> logits(tokens.size() * static_cast<std::size_t>(logits_.outputs()));
  std::vector<float> normalized(static_cast<std::size_t>(d_model));
  for (std::int64_t token = 0; token < std::ssize(tokens); ++token) {
    norm_.apply(normalized, row(x, token, d_model));
    logits_.apply(row(logits, token, logits_.outputs()), normalized);
  }
  return logits;
}

void Decoder::attend_in(Layer& layer, std::span<float> x, std::int64_t index) {
  const std::int64_t d_model = model_.d_model;
  const std::int64_t tokens = std::ssize(x) / d_model;
  std::vector<float> qkv(3 * x.size());
  std::vector<float> scratch(static_cast<std::size_t>(d_model));
  for (std::int64_t token = 0; token < tokens; ++token) {
    layer.attention_norm.apply(scratch, row(x, token, d_model));
    layer.qkv.apply(row(qkv, token, 3 * d_model), scratch);
  }
  Extents extents{.tokens = tokens, .heads = model_.heads, .features = model_.head_dim()};
  const HeadsView q = heads_of(qkv.data(), extents, 3 * d_model);
  const HeadsView k = heads_of(qkv.data() + d_model, extents, 3 * d_model);
  const HeadsView v = heads_of(qkv.data() + 2 * d_model, extents, 3 * d_model);
  std::vector<float> heads(x.size());
  const HeadsView out = heads_of(heads.data(), extents, d_model);

  extents.tokens = capacity_;
  const KvCache cache{.k = heads_of(layer.keys.data(), extents, d_model),
                      .v = heads_of(layer.values.data(), extents, d_model)};
  const StepRotations turned = positions_.rotations(size_, tokens);
  const Slots slots = ConsecutiveSlots{.first = size_};
  const Rotations* const of_keys = turned.keys ? &*turned.keys : nullptr;
  ok_or_fail(append(cache, {.k = k, .v = v}, slots, {.rotations = of_keys}));

  extents.tokens = size_ + tokens;
  const HeadsView keys = heads_of(layer.keys.data(), extents, d_model);
  const HeadsView values = heads_of(layer.values.data(), extents, d_model);
  if (const auto mapped = positions_.mapped_attention()) {
    ok_or_fail(attend_mapped(out, q, keys, values, *mapped));
  } else {
    AttendOptions options = positions_.attention(index);
    options.encoding.q_rotations = turned.queries ? &*turned.queries : nullptr;
    ok_or_fail(attend(out, q, keys, values, options));
  }
  for (std::int64_t token = 0; token < tokens; ++token) {
    layer.attention_out.apply(scratch, row(heads, token, d_model));
    add(row(x, token, d_model), scratch);
  }
}

void Decoder::feed_forward(const Layer& layer, std::span<float> x, std::int64_t d_model) {
  std::vector<float> scratch(static_cast<std::size_t>(d_model));
  std::vector<float> wide(static_cast<std::size_t>(layer.up.outputs()));
  for (std::int64_t token = 0; token < std::ssize(x) / d_model; ++token) {
    const auto of_token = row(x, token, d_model);
    layer.feed_forward_norm.apply(scratch, of_token);
    layer.up.apply(wide, scratch);
    gelu(wide);
    layer.down.apply(scratch, wide);
    add(of_token, scratch);
  }
}

}  // namespace rotary::lab
