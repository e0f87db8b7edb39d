// SPDX-License-Identifier: Apache-2.0
#include "lab/torch/encoder_decoder.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lab/data/pieces.hpp"
#include "lab/data/random.hpp"

namespace rotary::lab {
namespace {

// Finite: a softmax over nothing but -Inf is NaN, and in a row that is padding all may be hidden.
// A score this much below another has a weight of exactly 0.
constexpr double hidden = -1e9;

// [batch · heads, 1, tokens], for a mask of masked scores.
at::Tensor for_each_head(const at::Tensor& padding, std::int64_t heads) {
  return padding.expand({-1, heads, -1, -1}).flatten(0, 1);
}

void hide_padding(std::vector<LayerTerms>& layers, const at::Tensor& padding, std::int64_t heads) {
  const auto mask = for_each_head(padding, heads);
  for (LayerTerms& terms : layers) {
    if (terms.bias.defined()) {
      terms.bias = terms.bias + padding;
    } else {
      terms.mask = terms.mask.defined() ? terms.mask + mask : mask;
    }
  }
}

ModelConfig with_task(ModelConfig model, Task task) {
  model.task = task;
  return model;
}

}  // namespace

DecoderLayerImpl::DecoderLayerImpl(const ModelConfig& model) : heads_(model.heads) {
  namespace nn = torch::nn;
  const std::int64_t d = model.d_model;
  layer_ = register_module("layer", Layer(model));
  cross_norm_ = register_module("cross_norm", nn::LayerNorm(nn::LayerNormOptions({d})));
  cross_q_ = register_module("cross_q", make_linear(d, d, weight_std));
  cross_kv_ = register_module("cross_kv", make_linear(d, 2 * d, weight_std));
  cross_out_ = register_module("cross_out", make_linear(d, d, residual_std(model)));
}

at::Tensor DecoderLayerImpl::look(const at::Tensor& x, const Encoded& encoded) {
  const std::int64_t head_dim = x.size(2) / heads_;
  const auto q = cross_q_(x).view({x.size(0), x.size(1), heads_, head_dim});
  const auto kv =
      cross_kv_(encoded.texts).view({x.size(0), encoded.texts.size(1), 2, heads_, head_dim});
  LayerTerms terms;
  terms.mask = for_each_head(encoded.padding, heads_);
  return cross_out_(attend_with(terms, q, kv.select(2, 0), kv.select(2, 1)));
}

at::Tensor DecoderLayerImpl::forward(const at::Tensor& x, const LayerTerms& terms,
                                     const Encoded& encoded) {
  const auto seen = layer_->attend(x, terms);
  return layer_->feed_forward(seen + look(cross_norm_(seen), encoded));
}

EncoderDecoderImpl::EncoderDecoderImpl(const ModelConfig& model, const Encoding& encoding,
                                       std::int64_t pieces, std::uint64_t seed)
    : heads_(model.heads) {
  namespace nn = torch::nn;
  // Configurations of layers: the encoder's see all of a text, the decoder's only what is written
  // so far.
  const ModelConfig reads = with_task(model, Task::masked_lm);
  const ModelConfig writes = with_task(model, Task::causal_lm);
  torch::manual_seed(seed);
  pieces_ = register_module("pieces", nn::Embedding(pieces, model.d_model));
  nn::init::normal_(pieces_->weight, 0, weight_std);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string of_layer = std::to_string(layer);
    encoder_.push_back(register_module("encoder_" + of_layer, Layer(reads)));
    decoder_.push_back(register_module("decoder_" + of_layer, DecoderLayer(writes)));
  }
  const nn::LayerNormOptions norm({model.d_model});
  encoder_norm_ = register_module("encoder_norm", nn::LayerNorm(norm));
  decoder_norm_ = register_module("decoder_norm", nn::LayerNorm(norm));
  source_positions_ = register_module("source_positions", Positions(encoding, reads, seed));
  target_positions_ =
      register_module("target_positions", Positions(encoding, writes, Random(seed).next()));
}

Encoded EncoderDecoderImpl::encode(const at::Tensor& sources) {
  auto x = source_positions_->add_absolute(pieces_(sources));
  const auto padding =
      ((sources == padding_piece).to(x.scalar_type()) * hidden).unsqueeze(1).unsqueeze(1);
  auto terms = source_positions_->terms(sources.size(1), x.scalar_type());
  hide_padding(terms, padding, heads_);
  for (std::size_t layer = 0; layer < encoder_.size(); ++layer)
    x = encoder_[layer]->forward(x, terms[layer]);
  return {.texts = encoder_norm_(x), .padding = padding};
}

at::Tensor EncoderDecoderImpl::decode(const at::Tensor& inputs, const Encoded& encoded) {
  auto x = target_positions_->add_absolute(pieces_(inputs));
  const auto terms = target_positions_->terms(inputs.size(1), x.scalar_type());
  for (std::size_t layer = 0; layer < decoder_.size(); ++layer)
    x = decoder_[layer]->forward(x, terms[layer], encoded);
  return decoder_norm_(x);
}

at::Tensor EncoderDecoderImpl::logits(const at::Tensor& decoded) {
  return at::linear(decoded, pieces_->weight);
}

}  // namespace rotary::lab
