// SPDX-License-Identifier: Apache-2.0
// Compares keys after append() or shift() (rotated, normalised or in 8 bits) with exact ones,
// within the bounds of include/rotary/numeric_contract.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check/rotated.hpp"
#include "reference/angle.hpp"
#include "rotary/kv_cache.hpp"

namespace rotary::check {

// A token's rotation. Error bounds depend on its position, which is 0 for the caller's own rows.
struct KeyTurn {
  HeadWindow window;
  std::vector<reference::CosSin> row;  // A cos and A sin of each pair
  double attention_factor = 1;
  long double position = 0;
};

// A token's rotation by these rows, which count as exact.
[[nodiscard]] KeyTurn turn_of(const Rotations& rotations, std::int64_t batch, std::int64_t token);

// A token's exact keys [heads][features], and the sizes that errors are relative to.
struct ExactKeys {
  std::vector<long double> values;
  std::vector<long double> sizes;  // hypot of a pair; |value| of an unrotated feature
};
[[nodiscard]] ExactKeys turned(std::span<const long double> token, const KeyTurn& by);

struct NormalizedKeys : ExactKeys {
  std::vector<double> units;  // the bound of each |float32 key - exact|, in units of 2^-24 * size
};
// nullopt if the contract does not cover the token.
[[nodiscard]] std::optional<NormalizedKeys> normalized(std::span<const long double> token,
                                                       std::int64_t heads, const KeyNorm& k_norm,
                                                       const std::optional<KeyTurn>& by = {});
// Names the first stored number beyond its bound; empty if there is none.
[[nodiscard]] std::string fault(const NormalizedKeys& exact, std::span<const long double> stored,
                                DType dtype);

struct Int8Head {
  std::vector<std::int8_t> elements;
  float scale = 0;

  [[nodiscard]] bool is_zero() const;
  // NaNs count as equal.
  [[nodiscard]] bool has_bits_of(const Int8Head& other) const;
};

// The 8-bit head that append() stores for these numbers, bit for bit.
[[nodiscard]] Int8Head in_int8(std::span<const float> numbers);

// Describes the fault of a shifted head; empty if there is none.
[[nodiscard]] std::string shift_fault(const Int8Head& before, const Int8Head& after,
                                      const KeyTurn& by);

}  // namespace rotary::check
