// SPDX-License-Identifier: Apache-2.0
// The transformer of all encodings: pre-norm layers, GELU, no dropout. The task decides whether the
// model is causal. Only Positions makes it depend on positions.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "lab/encodings/encoding.hpp"
#include "lab/experiment/model_config.hpp"
#include "lab/torch/positions.hpp"

namespace rotary::lab {

// Standard deviations of initial weights; residual_std() for weights before a residual sum (GPT-2).
inline constexpr double weight_std = 0.02;
[[nodiscard]] double residual_std(const ModelConfig& model);
// Its bias starts at 0.
[[nodiscard]] torch::nn::Linear make_linear(std::int64_t from, std::int64_t to, double std);

class LayerImpl : public torch::nn::Module {
 public:
  explicit LayerImpl(const ModelConfig& model);
  // x [batch, tokens, d_model]
  [[nodiscard]] at::Tensor forward(const at::Tensor& x, const LayerTerms& terms);

  // The layer's two halves, each including the residual.
  [[nodiscard]] at::Tensor attend(const at::Tensor& x, const LayerTerms& terms);
  [[nodiscard]] at::Tensor feed_forward(const at::Tensor& x);

 private:
  [[nodiscard]] at::Tensor attention(const at::Tensor& x, const LayerTerms& terms);

  std::int64_t heads_;
  AttentionKind kind_;
  Task task_;
  torch::nn::LayerNorm attention_norm_ = nullptr, feed_forward_norm_ = nullptr;
  torch::nn::Linear qkv_ = nullptr, attention_out_ = nullptr, up_ = nullptr, down_ = nullptr;
};
TORCH_MODULE(Layer);

class TransformerImpl : public torch::nn::Module {
 public:
  // Models that differ only in encoding start with equal values in the weights they share.
  TransformerImpl(const ModelConfig& model, const Encoding& encoding, std::uint64_t seed);

  // inputs [batch, tokens]; predicted: flat indices into inputs, or undefined for all. Returns
  // logits [predicted, vocabulary].
  [[nodiscard]] at::Tensor forward(const at::Tensor& inputs, const at::Tensor& predicted);

  // The logits of all inputs [batch, tokens], which begin at position `first`. `terms` replace the
  // layers' own position terms.
  [[nodiscard]] at::Tensor continued(const at::Tensor& inputs, std::int64_t first,
                                     const std::vector<LayerTerms>& terms);

  [[nodiscard]] Positions& positions() noexcept { return positions_; }

 private:
  // [batch · tokens, d_model]
  [[nodiscard]] at::Tensor through_layers(const at::Tensor& inputs, std::int64_t first,
                                          const std::vector<LayerTerms>& terms);

  torch::nn::Embedding tokens_ = nullptr;
  std::vector<Layer> layers_;
  torch::nn::LayerNorm norm_ = nullptr;
  torch::nn::Linear logits_ = nullptr;
  Positions positions_ = nullptr;
};
TORCH_MODULE(Transformer);

// Both take q, k, v [batch, tokens, heads, head_dim] and return [batch, tokens, heads · head_dim].
// Without positions, k and v of attend_with() may have another number of tokens. attend_linearly()
// equals linear_attend() at quadratic cost, which is no slower at these lengths.
[[nodiscard]] at::Tensor attend_linearly(const LayerTerms& terms, Task task, const at::Tensor& q,
                                         const at::Tensor& k, const at::Tensor& v);
[[nodiscard]] at::Tensor attend_with(const LayerTerms& terms, const at::Tensor& q,
                                     const at::Tensor& k, const at::Tensor& v);

}  // namespace rotary::lab
