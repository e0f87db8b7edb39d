// SPDX-License-Identifier: Apache-2.0
// Keys to shift, and the positions and frequencies before and after, decoded from an input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/bytes.hpp"
#include "fuzz/noise.hpp"
#include "fuzz/numbers_case.hpp"
#include "fuzz/quantized_heads.hpp"
#include "rotary/shift.hpp"

namespace rotary::fuzz {

struct ShiftSide {
  Frequencies frequencies;
  NumbersCase positions = {};
  std::vector<long double> numbers = {};  // written to the positions

  [[nodiscard]] RotatedAt at() const { return {frequencies, positions_of(positions)}; }
};

// The source of the rows that rotate the keys.
enum class ShiftRows {
  made,     // make_shift
  remade,   // remake_shift, from rows of another shift
  at_once,  // shift() makes the rows itself
  rotated,  // make_rotations of `to`; shift() may refuse these rows
};

struct ShiftCase {
  ShiftRows rows = ShiftRows::made;
  RotationsOptions options = {};
  ShiftSide from;
  ShiftSide to;
  HeadsView keys = {};
  std::optional<QuantizedHeadsView> quantized = {};  // instead of keys
  bool has_executor = false;
  bool has_zeros = false;  // if quantized: the first head is 0
  std::uint64_t seed = 0;
  Noise noise = Noise::activations;
};

// memory: for rows, separate from the buffer. Returns nullopt if a view that shift may accept would
// leave the buffer.
[[nodiscard]] std::optional<ShiftCase> decode_shift(Bytes& input, std::span<std::byte> buffer,
                                                    std::span<std::byte> memory);

}  // namespace rotary::fuzz
