// SPDX-License-Identifier: Apache-2.0
// Elements of every dtype as numbers, and the contract for a rotated pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "check/keys.hpp"
#include "rotary/rotate.hpp"
#include "rotary/tensor_view.hpp"
#include "tests/support/elements.hpp"

namespace rotary::fuzz {

using check::features_read;
using check::features_written;
using test::value_at;

// The bits of the nearest element, in the lowest bytes. The value is rounded once.
[[nodiscard]] std::uint64_t bits_of(DType dtype, double value);

// True if the element is the value, rounded once to nearest even. For a NaN: if it is a NaN.
[[nodiscard]] bool is_rounded(DType dtype, const std::byte* element, double value);

struct Pair {
  double x = 0;
  double y = 0;
};

// How a pair is rotated: an element of the rows (A cos and A sin), and how it is used.
struct Turn {
  DType dtype = DType::f32;
  Direction direction = Direction::forward;
  double attention_factor = 1;
  double cos = 1;
  double sin = 0;
  std::int64_t position = 0;
};

// True if the contract (rotary/numeric_contract.hpp) covers this pair. All numbers must be finite,
// and intermediate results must stay within float32 (double for f64).
[[nodiscard]] bool is_within_range(const Turn& turn, const Pair& in);

// True if out is the rotated pair within the contract's bound. Requires is_within_range.
[[nodiscard]] bool keeps_contract(const Turn& turn, const Pair& in, const Pair& out);

// True if the results of two instruction sets differ by at most twice the bound at this position.
// Each must keep the contract for its own rows. Requires is_within_range.
[[nodiscard]] bool agree(const Turn& turn, const Pair& in, const std::array<Pair, 2>& outs);

}  // namespace rotary::fuzz
