// SPDX-License-Identifier: Apache-2.0
// The batch of one step: a function of the text, the seed and the step, so that all encodings see
// the same bytes, and a run that continues from a checkpoint sees the bytes of an uninterrupted
// run.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/experiment/model_config.hpp"

namespace rotary::lab {

struct BatchShape {
  Task task = {};
  std::int64_t rows = 0;
  std::int64_t tokens = 0;
};

struct Batch {
  BatchShape shape;
  std::vector<std::int64_t> inputs = {};     // [rows][tokens]
  std::vector<std::int64_t> predicted = {};  // indices in inputs of the predicted bytes; empty: all
  std::vector<std::int64_t> targets = {};    // what is there: [predicted], or [rows][tokens]
};

// Rows begin anywhere in the text, independently. causal_lm: the targets are the next bytes.
// masked_lm: 15 % of the bytes are predicted, of which 80 % are hidden, 10 % replaced by a random
// byte, and 10 % left (BERT, Devlin et al. 2019, §3.1). Fails where the text is shorter than a row.
[[nodiscard]] Batch training_batch(std::string_view text, const BatchShape& shape,
                                   std::uint64_t seed, std::int64_t step);

// Rows that begin at equal distances in the text, with the same bytes predicted in every call: the
// same questions for every encoding, seed and step.
[[nodiscard]] Batch validation_batch(std::string_view text, const BatchShape& shape);

// Rows [first, first + rows) of a batch.
[[nodiscard]] Batch part_of(const Batch& batch, std::int64_t first, std::int64_t rows);

}  // namespace rotary::lab
