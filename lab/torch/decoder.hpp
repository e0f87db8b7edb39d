// SPDX-License-Identifier: Apache-2.0
// Decoder: continues a text with a trained causal model, like an inference engine. The core library
// keeps each layer's rotated keys in a KV cache and attends to them. libtorch does the rest.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/data/batches.hpp"
#include "lab/encodings/encoding.hpp"
#include "lab/experiment/model_config.hpp"
#include "lab/torch/generate.hpp"
#include "lab/torch/transformer.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::lab {

class Decoder {
 public:
  // For texts of up to `capacity` tokens. Scaling rules that depend on the context length always
  // use `capacity`, so cached keys stay valid. Fails unless the model is causal with softmax
  // attention and the encoding has enough positions.
  Decoder(Encoding encoding, const ModelConfig& config, Transformer model, std::int64_t capacity);
  // Not copyable, because the layers' terms refer to this object.
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  // Takes the next tokens, a prompt or a single one, and returns the logits after each:
  // [tokens, byte_tokens]. Tokens must be in the vocabulary and fit in the capacity.
  [[nodiscard]] at::Tensor feed(const std::vector<std::int64_t>& tokens);

  // One layer's attention for the next tokens: stores k and v, and attends to all stored tokens.
  // q, k, v [1, tokens, heads, head_dim], in f32; returns [1, tokens, heads · head_dim].
  [[nodiscard]] at::Tensor attend(std::size_t layer, const at::Tensor& q, const at::Tensor& k,
                                  const at::Tensor& v);

 private:
  struct Cache {
    at::Tensor keys, values;  // [1, capacity, heads, head_dim]
    std::int64_t size = 0;    // tokens stored
  };

  Encoding encoding_;
  ModelConfig config_;
  Transformer model_;
  std::optional<Frequencies> frequencies_;
  std::vector<LayerTerms> terms_;
  std::vector<Cache> caches_;
};

// Draws a token by the softmax of the logits [tokens].
[[nodiscard]] std::int64_t choose(const at::Tensor& logits, const Sampling& sampling,
                                  Random& random);

}  // namespace rotary::lab
