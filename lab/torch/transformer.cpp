// SPDX-License-Identifier: Apache-2.0

#include "lab/torch/transformer.hpp"

#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/torch/functions.hpp"

namespace rotary::lab {

namespace {

at::Tensor heads_first(const at::Tensor& x, const std::shared_ptr<const Rotations>& rotations) {
  return rotations ? rotate_heads(x, rotations) : x.transpose(1, 2).contiguous();
}

// [batch · heads, ...]
at::Tensor flat(const at::Tensor& x) { return x.flatten(0, 1); }

// scale · q kᵀ plus the mask, [batch, heads, tokens, tokens].
at::Tensor masked_scores(const at::Tensor& q, const at::Tensor& k, const at::Tensor& mask,
                         double scale) {
  const auto k_columns = flat(k).transpose(1, 2);
  // The product starts from the mask, which saves a pass over the scores.
  const auto scores = mask.defined() ? at::baddbmm(mask, flat(q), k_columns, 1, scale)
                                     : at::bmm(flat(q) * scale, k_columns);
  return scores.view({q.size(0), q.size(1), q.size(2), k.size(2)});
}

}  // namespace

at::Tensor attend_with(const LayerTerms& terms, const at::Tensor& q, const at::Tensor& k,
                       const at::Tensor& v) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  const auto values = heads_first(v, nullptr);
  at::Tensor scores;
  if (terms.clip) {
    scores = clipped_angle_scores(q, k, *terms.clip) * scale;
    // As in masked_scores, the mask is one matrix, or one for each batch row and head.
    if (terms.mask.defined()) scores = (flat(scores) + terms.mask).view(scores.sizes());
  } else {
    // Rotations may move features, so removed ones are removed before.
    const auto turned_q =
        heads_first(terms.kept_features.defined() ? q * terms.kept_features : q, terms.q_rotations);
    const auto turned_k = heads_first(k, terms.k_rotations);
    scores = masked_scores(turned_q, turned_k, terms.mask, scale);
    if (terms.shaw_keys.defined())
      scores = add_shaw_scores(scores, turned_q * scale, terms.shaw_keys, terms.window);
  }
  if (terms.bias.defined()) scores = scores + terms.bias;
  const auto weights = scores.softmax(-1);
  if (terms.probe != nullptr) terms.probe->see(q.transpose(1, 2), k.transpose(1, 2), weights);
  auto out = at::bmm(flat(weights), flat(values))
                 .view({values.size(0), values.size(1), q.size(1), values.size(3)});
  if (terms.shaw_values.defined())
    out = add_shaw_values(out, weights, terms.shaw_values, terms.window);
  return out.transpose(1, 2).flatten(2);
}

at::Tensor attend_linearly(const LayerTerms& terms, Task task, const at::Tensor& q,
                           const at::Tensor& k, const at::Tensor& v) {
  const auto features_of_q = at::elu(q) + 1;
  const auto features_of_k = at::elu(k) + 1;
  const auto plain_q = heads_first(features_of_q, nullptr);
  const auto plain_k = heads_first(features_of_k, nullptr);
  const auto values = heads_first(v, nullptr);
  auto scores = at::matmul(heads_first(features_of_q, terms.q_rotations),
                           heads_first(features_of_k, terms.k_rotations).transpose(2, 3));
  if (is_causal(task)) scores = scores.tril();
  const auto sums_of_k = is_causal(task) ? plain_k.cumsum(2) : plain_k.sum(2, /*keepdim=*/true);
  const auto normalizer = (plain_q * sums_of_k).sum(3, /*keepdim=*/true);
  return (at::matmul(scores, values) / normalizer).transpose(1, 2).flatten(2);
}

double residual_std(const ModelConfig& model) {
  return weight_std / std::sqrt(2.0 * static_cast<double>(model.layers));
}

torch::nn::Linear make_linear(std::int64_t from, std::int64_t to, double std) {
  torch::nn::Linear linear(from, to);
  torch::nn::init::normal_(linear->weight, 0, std);
  torch::nn::init::zeros_(linear->bias);
  return linear;
}

LayerImpl::LayerImpl(const ModelConfig& model)
    : heads_(model.heads), kind_(model.attention), task_(model.task) {
  namespace nn = torch::nn;
  const std::int64_t d = model.d_model;
  const auto linear = [&](const char* name, std::int64_t from, std::int64_t to, double std) {
    return register_module(name, make_linear(from, to, std));
  };
  attention_norm_ = register_module("attention_norm", nn::LayerNorm(nn::LayerNormOptions({d})));
  qkv_ = linear("qkv", d, 3 * d, weight_std);
  attention_out_ = linear("attention_out", d, d, residual_std(model));
  feed_forward_norm_ =
      register_module("feed_forward_norm", nn::LayerNorm(nn::LayerNormOptions({d})));
  up_ = linear("up", d, 4 * d, weight_std);
  down_ = linear("down", 4 * d, d, residual_std(model));
}

at::Tensor LayerImpl::attention(const at::Tensor& x, const LayerTerms& terms) {
  const auto qkv = qkv_(x).view({x.size(0), x.size(1), 3, heads_, x.size(2) / heads_});
  const auto q = qkv.select(2, 0);
  const auto k = qkv.select(2, 1);
  const auto v = qkv.select(2, 2);
  if (terms.attend) return attention_out_(terms.attend(q, k, v));
  return attention_out_(kind_ == AttentionKind::linear ? attend_linearly(terms, task_, q, k, v)
                                                       : attend_with(terms, q, k, v));
}

at::Tensor LayerImpl::attend(const at::Tensor& x, const LayerTerms& terms) {
  return x + attention(attention_norm_(x), terms);
}

at::Tensor LayerImpl::feed_forward(const at::Tensor& x) {
  return x + down_(torch::gelu(up_(feed_forward_norm_(x))));
}

at::Tensor LayerImpl::forward(const at::Tensor& x, const LayerTerms& terms) {
  return feed_forward(attend(x, terms));
}

TransformerImpl::TransformerImpl(const ModelConfig& model, const Encoding& encoding,
                                 std::uint64_t seed) {
  namespace nn = torch::nn;
  torch::manual_seed(seed);
  tokens_ = register_module("tokens", nn::Embedding(model.vocabulary(), model.d_model));
  nn::init::normal_(tokens_->weight, 0, weight_std);
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    layers_.push_back(register_module("layer_" + std::to_string(layer), Layer(model)));
  norm_ = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({model.d_model})));
  logits_ = register_module("logits", make_linear(model.d_model, byte_tokens, weight_std));
  positions_ = register_module("positions", Positions(encoding, model, seed));
}

at::Tensor TransformerImpl::through_layers(const at::Tensor& inputs, std::int64_t first,
                                           const std::vector<LayerTerms>& terms) {
  auto x = positions_->add_absolute(tokens_(inputs), first);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer)
    x = layers_[layer]->forward(x, terms[layer]);
  return x.flatten(0, 1);
}

at::Tensor TransformerImpl::forward(const at::Tensor& inputs, const at::Tensor& predicted) {
  const auto terms = positions_->terms(inputs.size(1), tokens_->weight.scalar_type());
  auto x = through_layers(inputs, 0, terms);
  if (predicted.defined()) x = x.index_select(0, predicted);
  return logits_(norm_(x));
}

at::Tensor TransformerImpl::continued(const at::Tensor& inputs, std::int64_t first,
                                      const std::vector<LayerTerms>& terms) {
  return logits_(norm_(through_layers(inputs, first, terms)));
}

}  // namespace rotary::lab
