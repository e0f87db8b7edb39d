// SPDX-License-Identifier: Apache-2.0
// Keys that append() or shift() has turned, normalised or stored in 8 bits: the numbers that they
// must be, with the errors that include/rotary/numeric_contract.hpp allows and no larger ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reference/angle.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/rotate.hpp"

namespace rotary::check {

// Features of pair i, counted from the start of the head: before the rotation, and in the result.
// They differ for interleaved_to_half.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> features_read(const HeadWindow& window,
                                                                  Direction direction,
                                                                  std::int64_t pair) noexcept;
[[nodiscard]] std::pair<std::int64_t, std::int64_t> features_written(const HeadWindow& window,
                                                                     Direction direction,
                                                                     std::int64_t pair) noexcept;

[[nodiscard]] bool turns(const HeadWindow& window, std::int64_t feature) noexcept;

// The rotation of a token. position: the one that bounds take; 0 where rows are taken as they are.
struct KeyTurn {
  HeadWindow window;
  std::vector<reference::CosSin> row;  // A cos and A sin of each pair
  double attention_factor = 1;
  long double position = 0;
};

// By these rows as they are.
[[nodiscard]] KeyTurn turn_of(const Rotations& rotations, std::int64_t batch, std::int64_t token);

// [heads][features] of a token. The size of a feature is what its error is relative to.
struct ExactKeys {
  std::vector<long double> values;
  std::vector<long double> sizes;  // the hypot of a pair; |value| of a feature that does not turn
};
[[nodiscard]] ExactKeys turned(std::span<const long double> token, const KeyTurn& by);

// units: |float32 key - exact| in 2^-24 * size, by feature.
struct NormalizedKeys : ExactKeys {
  std::vector<double> units;
};
// nullopt for a token of which the contract says nothing.
[[nodiscard]] std::optional<NormalizedKeys> normalized(std::span<const long double> token,
                                                       std::int64_t heads, const KeyNorm& k_norm,
                                                       const std::optional<KeyTurn>& by = {});
// Says which stored number is not within its bound; empty where all are.
[[nodiscard]] std::string fault(const NormalizedKeys& exact, std::span<const long double> stored,
                                DType dtype);

struct Int8Head {
  std::vector<std::int8_t> elements;
  float scale = 0;

  [[nodiscard]] bool is_zero() const;
  // NaNs are equal.
  [[nodiscard]] bool has_bits_of(const Int8Head& other) const;
};

// The head that append() makes of float32 numbers, to the bit.
[[nodiscard]] Int8Head in_int8(std::span<const float> numbers);

// Says what is wrong with a head that shift() has turned; empty where nothing is.
[[nodiscard]] std::string shift_fault(const Int8Head& before, const Int8Head& after,
                                      const KeyTurn& by);

}  // namespace rotary::check
