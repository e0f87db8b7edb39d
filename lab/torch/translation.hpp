// SPDX-License-Identifier: Apache-2.0
// The learner of translation: an encoder and decoder on pairs of texts, judged by BLEU.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "lab/data/pair_batches.hpp"
#include "lab/torch/encoder_decoder.hpp"
#include "lab/torch/learner.hpp"

namespace rotary::lab {

// Fails where the data are no pairs.
[[nodiscard]] std::unique_ptr<Learner> make_translation(const Cell& cell, const Dataset& data);

// The loss of each target other than padding, by row: [rows, target_tokens], 0 at padding.
[[nodiscard]] at::Tensor translation_losses(EncoderDecoder& model, const PairBatch& batch);

// For backward(). A tenth of what is asked for is spread over all pieces (label smoothing, as in
// Vaswani et al. 2017).
[[nodiscard]] LossSum smoothed_loss(EncoderDecoder& model, const PairBatch& batch);

// The most probable piece after what is written, again and again, up to the end or `tokens` pieces.
// For each row of the batch's sources, without the end.
[[nodiscard]] std::vector<std::vector<std::int64_t>> translate(EncoderDecoder& model,
                                                               const PairBatch& batch,
                                                               std::int64_t tokens);

}  // namespace rotary::lab
