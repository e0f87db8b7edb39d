// SPDX-License-Identifier: Apache-2.0
// Encoder and decoder of Vaswani et al. 2017, from transformer.hpp's layers. Both languages and the
// logits share one embedding.
//
// Positions act only in self-attention, as in RoFormer's translator. A distance between words of
// two texts has no meaning, and the encoder's outputs already depend on their positions.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "lab/data/pair_batches.hpp"
#include "lab/encodings/encoding.hpp"
#include "lab/experiment/model_config.hpp"
#include "lab/torch/learner.hpp"
#include "lab/torch/positions.hpp"
#include "lab/torch/transformer.hpp"

namespace rotary::lab {

// Encoded texts as the decoder sees them.
struct Encoded {
  at::Tensor texts;    // [batch, source_tokens, d_model]
  at::Tensor padding;  // [batch, 1, 1, source_tokens], added to scores: 0, or -1e9 for padding

  [[nodiscard]] Encoded rows(const at::Tensor& indices) const {
    return {.texts = texts.index_select(0, indices), .padding = padding.index_select(0, indices)};
  }
};

class DecoderLayerImpl : public torch::nn::Module {
 public:
  explicit DecoderLayerImpl(const ModelConfig& model);
  // x [batch, tokens, d_model]
  [[nodiscard]] at::Tensor forward(const at::Tensor& x, const LayerTerms& terms,
                                   const Encoded& encoded);

 private:
  [[nodiscard]] at::Tensor look(const at::Tensor& x, const Encoded& encoded);

  std::int64_t heads_;
  Layer layer_ = nullptr;
  torch::nn::LayerNorm cross_norm_ = nullptr;
  torch::nn::Linear cross_q_ = nullptr, cross_kv_ = nullptr, cross_out_ = nullptr;
};
TORCH_MODULE(DecoderLayer);

class EncoderDecoderImpl : public torch::nn::Module {
 public:
  // pieces: the vocabulary size.
  EncoderDecoderImpl(const ModelConfig& model, const Encoding& encoding, std::int64_t pieces,
                     std::uint64_t seed);

  // sources [batch, tokens], padding at the end.
  [[nodiscard]] Encoded encode(const at::Tensor& sources);

  // Takes inputs [batch, tokens], returns [batch, tokens, d_model] for logits(); causal.
  [[nodiscard]] at::Tensor decode(const at::Tensor& inputs, const Encoded& encoded);

  // Takes [..., d_model], returns [..., pieces].
  [[nodiscard]] at::Tensor logits(const at::Tensor& decoded);

 private:
  std::int64_t heads_;
  torch::nn::Embedding pieces_ = nullptr;
  std::vector<Layer> encoder_;
  std::vector<DecoderLayer> decoder_;
  torch::nn::LayerNorm encoder_norm_ = nullptr, decoder_norm_ = nullptr;
  Positions source_positions_ = nullptr, target_positions_ = nullptr;
};
TORCH_MODULE(EncoderDecoder);

// The learner of translation: an encoder and decoder on pairs of texts, judged by BLEU.
// Fails if the data are not pairs.
[[nodiscard]] std::unique_ptr<Learner> make_translation(const Cell& cell, const Dataset& data);

// Each target's loss by row, [rows, target_tokens]; 0 for padding.
[[nodiscard]] at::Tensor translation_losses(EncoderDecoder& model, const PairBatch& batch);

// The loss for backward(). Label smoothing spreads a tenth of the target's weight over all pieces.
[[nodiscard]] LossSum smoothed_loss(EncoderDecoder& model, const PairBatch& batch);

// Translates each source row by the most probable next piece, up to the end piece or `tokens`
// pieces. Results exclude the end piece.
[[nodiscard]] std::vector<std::vector<std::int64_t>> translate(EncoderDecoder& model,
                                                               const PairBatch& batch,
                                                               std::int64_t tokens);

}  // namespace rotary::lab
