// SPDX-License-Identifier: Apache-2.0
// Decoder: runs a trained causal model as inference engines do, without torch. Each layer has a KV
// cache of the core library; a step rotates and appends its keys, then attends to all.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/encodings/encoding.hpp"
#include "lab/experiment/model_config.hpp"
#include "lab/generate/decoder_positions.hpp"
#include "lab/generate/dense.hpp"
#include "lab/generate/weights.hpp"

namespace rotary::lab {

class Decoder {
 public:
  // For texts up to `capacity` tokens. Fails for a model that is not causal with softmax attention,
  // and if the encoding has fewer positions.
  Decoder(const Encoding& encoding, const ModelConfig& model, const Weights& weights,
          std::int64_t capacity);

  // Takes the next tokens: a whole prompt, or one. Returns the logits for the token after each of
  // them, [tokens][byte_tokens]. Requires tokens below the vocabulary, and room for them.
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
