// SPDX-License-Identifier: Apache-2.0
// Random numbers that depend on a seed only, the same with every compiler and standard library:
// SplitMix64 (Steele, Lea and Flood 2014).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lab/experiment/model_config.hpp"

namespace rotary::lab {

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept : state_(seed) {}
  // One of several streams that share a seed.
  constexpr Random(std::uint64_t seed, std::uint64_t stream) noexcept
      : state_(Random(seed).next() ^ Random(~stream).next()) {}

  constexpr std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, end), end > 0. The bias is below end / 2^64.
  constexpr std::int64_t below(std::int64_t end) noexcept {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(end));
  }
  // In (0, 1].
  constexpr double uniform() noexcept {
    return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

// The batch of one step: a function of the text, the seed and the step, so that all encodings see
// the same bytes, and a run that continues from a checkpoint sees the bytes of an uninterrupted
// run.

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

// Questions that a rule answers, for length generalisation: a model trained on short ones is asked
// longer ones. A row is a question, its answer and an end, as bytes:
//   copy      dacb=dacb;
//   reverse   dacb=bcad;
//   addition  72+95=680;  numbers from their lowest digit on: 27 + 59 = 086 as one writes it
// Symbols of a question are its letters (of ten), or the digits of each number, whose sum has one
// more. The answer and its end are predicted; rows shorter than the batch are padded with ends,
// which a causal model sees only after the answer.
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
