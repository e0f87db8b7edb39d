// SPDX-License-Identifier: Apache-2.0
// Compares rotated tensors with the reference, element by element.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/tensor.hpp"
#include "reference/tensor.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotate.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::bench {

struct Verification {
  std::int64_t elements = 0;
  std::int64_t wrong = 0;  // beyond the bound of numeric_contract.hpp, or unrotated and changed
  // The largest error, in units of 2^-24 hypot(exact pair) for rotated elements, of 2^-24 A for
  // rows and of the bound for attention.
  double worst = 0;
  double bound = 0;  // the largest bound among the elements, in the same units
  std::int64_t worst_position = 0;
  std::int64_t worst_head = 0;
  std::int64_t worst_feature = 0;

  // Counts an element whose error may be at most `most`. A NaN counts as wrong.
  void add(double error, double most, std::int64_t position, std::int64_t head = 0,
           std::int64_t feature = 0);
  void merge(const Verification& other);
};

// Two tensors with equal extents; dtypes may differ.
struct RotatedTensor {
  ConstHeadsView before;
  ConstHeadsView after;
};

// The expected operation. `rows` are the exact rows at `positions`.
struct ExactRotation {
  const Frequencies& frequencies;
  const reference::AngleRows& rows;
  Positions positions;
  Direction direction = Direction::forward;
};

[[nodiscard]] Verification verify(const RotatedTensor& tensor, const ExactRotation& rotation);

// At most 32 tokens, evenly spread, including the first and the last.
[[nodiscard]] std::vector<std::int64_t> sampled_tokens(std::int64_t tokens);

// Some tokens of a tensor, copied before an operation in place.
struct Sample {
  std::vector<std::int64_t> tokens;
  Tensor values;
};
[[nodiscard]] Sample take_sample(const ConstHeadsView& view);

// Token t is rotated by position first_position + t * positions_per_token.
struct SampledRotation {
  const Frequencies& frequencies;
  std::int64_t first_position = 0;
  std::int64_t positions_per_token = 1;
  Direction direction = Direction::forward;
};

// Verifies every head and feature of the sample's tokens.
[[nodiscard]] Verification verify(const Sample& before, const ConstHeadsView& after,
                                  const SampledRotation& rotation);

}  // namespace rotary::bench
