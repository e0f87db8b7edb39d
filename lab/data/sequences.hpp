// SPDX-License-Identifier: Apache-2.0
// Questions that a rule answers, for length generalisation: a model trained on short ones is asked
// longer ones. A row is a question, its answer and an end, as bytes:
//   copy      dacb=dacb;
//   reverse   dacb=bcad;
//   addition  72+95=680;  numbers from their lowest digit on: 27 + 59 = 086 as one writes it
// Symbols of a question are its letters (of ten), or the digits of each number, whose sum has one
// more. The answer and its end are predicted; rows shorter than the batch are padded with ends,
// which a causal model sees only after the answer.
#pragma once

#include <cstdint>

#include "lab/data/batches.hpp"
#include "lab/experiment/model_config.hpp"

namespace rotary::lab {

// The number of tokens in a question and its answer without the end, which is predicted and not
// read.
[[nodiscard]] std::int64_t sequence_tokens(Task task, std::int64_t symbols);

// The symbols of the longest question that fits in `tokens` tokens. Fails if none does.
[[nodiscard]] std::int64_t symbols_that_fit(Task task, std::int64_t tokens);

struct SequenceShape {
  Task task = {};
  std::int64_t rows = 0;
  std::int64_t symbols = 0;  // of the longest question
};

// Questions of 1 to shape.symbols symbols, each length equally often; a function of (seed, step)
// only.
[[nodiscard]] Batch sequence_training_batch(const SequenceShape& shape, std::uint64_t seed,
                                            std::int64_t step);

// Questions of shape.symbols symbols, the same in every call.
[[nodiscard]] Batch sequence_validation_batch(const SequenceShape& shape);

}  // namespace rotary::lab
