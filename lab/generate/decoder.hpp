// SPDX-License-Identifier: Apache-2.0
// Positions of a decoder that works token by token: turns an Encoding into arguments of the core
// library's attend(), append() and sums of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lab/encodings/encoding.hpp"
#include "lab/experiment/model_config.hpp"
#include "lab/generate/dense.hpp"
#include "rotary/absolute.hpp"
#include "rotary/attention.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/position_maps.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::lab {

// cos and sin rows for one step's tokens; absent: no rotation.
struct StepRotations {
  std::optional<Rotations> queries;
  std::optional<Rotations> keys;
};

class DecoderPositions {
 public:
  // For texts of up to `capacity` tokens. Rules that depend on the context use that length from the
  // first token on, so cached keys stay valid. Fails if the encoding has fewer positions. Copies
  // the learned weights: "positions.learned" and similar.
  DecoderPositions(const Encoding& encoding, const ModelConfig& model, const Weights& weights,
                   std::int64_t capacity);
  // attend() gets views of memory owned here.
  DecoderPositions(const DecoderPositions&) = delete;
  DecoderPositions& operator=(const DecoderPositions&) = delete;

  // x [1, tokens, d_model]: embeddings from position `first` on.
  void add_absolute(TokensView x, std::int64_t first) const;

  [[nodiscard]] StepRotations rotations(std::int64_t first, std::int64_t tokens) const;

  // attend()'s position options in this layer, except a step's rotations.
  [[nodiscard]] AttendOptions attention(std::int64_t layer) const;

  // For a position map: attend_mapped()'s options, for every layer.
  [[nodiscard]] std::optional<MappedAttention> mapped_attention() const;

 private:
  void read_shaw(const ShawEncoding& shaw, const Weights& weights);
  void read_bias(const BiasEncoding& bias, const Weights& weights);

  ModelConfig model_;
  std::optional<WindowedLayers> windows_;
  std::vector<float> learned_;  // [model.tokens][d_model]
  std::vector<float> sines_;    // [capacity][d_model]
  std::optional<Frequencies> frequencies_;
  bool has_roles_ = false;  // xPos
  std::optional<PositionMap> map_;
  // A list of numbers for each layer, or one list for all layers.
  std::vector<std::vector<double>> bias_numbers_;  // T5's bias is a view of them
  std::vector<RelativeBias> biases_;
  std::vector<std::vector<float>> shaw_numbers_;  // of each layer: keys, then values
  std::vector<ShawTable> shaw_tables_;
};

// Decoder: runs a trained causal model like an inference engine, without torch. Each layer has a KV
// cache of the core library; a step rotates and appends keys, then attends to all.

class Decoder {
 public:
  // For texts of up to `capacity` tokens. Fails unless the model is causal with softmax attention
  // and the encoding has enough positions.
  Decoder(const Encoding& encoding, const ModelConfig& model, const Weights& weights,
          std::int64_t capacity);

  // Takes the next tokens, a whole prompt or one, and returns the logits after each:
  // [tokens][byte_tokens]. Tokens must be in the vocabulary and fit in the capacity.
  [[nodiscard]] std::vector<float> feed(std::span<const std::int64_t> tokens);

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }

 private:
  struct Layer {
    LayerNorm attention_norm;
    Linear qkv, attention_out;
    LayerNorm feed_forward_norm;
    Linear up, down;
    std::vector<float> keys, values;  // the cache, [capacity][heads][head_dim]
  };

  static Layer make_layer(const Weights& weights, std::int64_t index, std::int64_t cached);
  void attend_in(Layer& layer, std::span<float> x, std::int64_t index);
  static void feed_forward(const Layer& layer, std::span<float> x, std::int64_t d_model);

  ModelConfig model_;
  std::int64_t capacity_;
  DecoderPositions positions_;
  std::vector<float> tokens_;  // [vocabulary][d_model]
  std::vector<Layer> layers_;
  LayerNorm norm_;
  Linear logits_;
  std::int64_t size_ = 0;  // tokens in the caches
};

}  // namespace rotary::lab
