// SPDX-License-Identifier: Apache-2.0
// Batches, and the random numbers that draw them. The numbers depend only on the seed, not on the
// compiler or standard library: SplitMix64 (Steele, Lea and Flood 2014).
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <vector>

#include "lab/experiment/model_config.hpp"

namespace rotary::lab {

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept : state_(seed) {}
  // One of several streams with the same seed.
  constexpr Random(std::uint64_t seed, std::uint64_t stream) noexcept
      : state_(Random(seed).next() ^ Random(~stream).next()) {}

  constexpr std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // A number in [0, end), end > 0. The bias is below end / 2^64.
  constexpr std::int64_t below(std::int64_t end) noexcept {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(end));
  }
  // A number in (0, 1].
  constexpr double uniform() noexcept {
    return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53;
  }
  // By Box and Muller.
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

// A batch depends only on text, seed and step. So all encodings see the same bytes, and a run
// continued from a checkpoint sees the bytes of an uninterrupted run.

struct BatchShape {
  Task task = {};
  std::int64_t rows = 0;
  std::int64_t tokens = 0;
};

struct Batch {
  BatchShape shape;
  std::vector<std::int64_t> inputs = {};     // [rows][tokens]
  std::vector<std::int64_t> predicted = {};  // indices in inputs to predict; empty: all
  std::vector<std::int64_t> targets = {};    // the right bytes: [predicted], or [rows][tokens]
};

// Rows start anywhere in the text. causal_lm predicts the next bytes. masked_lm predicts 15 % of
// the bytes: 80 % of them are hidden, 10 % random, 10 % unchanged (BERT, Devlin et al. 2019, §3.1).
// Fails if the text is not longer than a row.
[[nodiscard]] Batch training_batch(std::string_view text, const BatchShape& shape,
                                   std::uint64_t seed, std::int64_t step);

// Rows start at equal distances. Every call returns the same batch, so losses of all encodings,
// seeds and steps are comparable.
[[nodiscard]] Batch validation_batch(std::string_view text, const BatchShape& shape);

// Rows [first, first + rows) of a batch.
[[nodiscard]] Batch part_of(const Batch& batch, std::int64_t first, std::int64_t rows);

// Questions with a rule for the answer. They test length generalisation: a model trained on short
// questions is asked longer ones. A row is a question, its answer and an end, as bytes:
//   copy      dacb=dacb;
//   reverse   dacb=bcad;
//   addition  72+95=680;  digits from the lowest on: 27 + 59 = 086
// A question's symbols are its letters (ten different ones) or each number's digits. A sum has one
// digit more than the numbers. The model predicts the answer and end. Shorter rows are padded with
// ends, which a causal model sees only after the answer.

// Tokens of a question and its answer. The end is not counted: it is predicted but not read.
[[nodiscard]] std::int64_t sequence_tokens(Task task, std::int64_t symbols);

// The symbols of the longest question that fits in `tokens` tokens; fails if none does.
[[nodiscard]] std::int64_t symbols_that_fit(Task task, std::int64_t tokens);

struct SequenceShape {
  Task task = {};
  std::int64_t rows = 0;
  std::int64_t symbols = 0;  // of the longest question
};

// Questions of 1 to shape.symbols symbols, equally likely lengths; depends only on seed and step.
[[nodiscard]] Batch sequence_training_batch(const SequenceShape& shape, std::uint64_t seed,
                                            std::int64_t step);

// Questions of shape.symbols symbols, equal in every call.
[[nodiscard]] Batch sequence_validation_batch(const SequenceShape& shape);

}  // namespace rotary::lab
