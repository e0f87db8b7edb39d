// SPDX-License-Identifier: Apache-2.0
// Copies the bits of returned numbers into strings. Equal strings mean equal bits. A value without
// numbers gives an empty string.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "rotary/absolute.hpp"
#include "rotary/dialect.hpp"
#include "rotary/identify.hpp"
#include "rotary/m_rope.hpp"
#include "rotary/model_difference.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/position_maps.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/rotations.hpp"

namespace rotary::test {

template <class T>
[[nodiscard]] std::string bits_of(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
  } else {
    return {};
  }
}
template <class Number>
requires std::is_arithmetic_v<Number>
[[nodiscard]] std::string bits_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}
template <class Number>
[[nodiscard]] std::string bits_of(const AxisPositions<Number>& positions) {
  return bits_of(positions.numbers);
}
template <class Number>
[[nodiscard]] std::string bits_of(const MRopePositions<Number>& made) {
  return bits_of(made.positions) + bits_of(made.group_ends) + bits_of(made.delta);
}
[[nodiscard]] std::string bits_of(const Frequencies& frequencies);
[[nodiscard]] std::string bits_of(const Rotations& rotations);
[[nodiscard]] std::string bits_of(const Sinusoidal& sinusoidal);
[[nodiscard]] std::string bits_of(const TwoAngles& angles);
[[nodiscard]] std::string bits_of(const TwoAngleRows& made);
[[nodiscard]] std::string bits_of(const RotarySpec& spec);
[[nodiscard]] std::string bits_of(const ModelSpec& model);
[[nodiscard]] std::string bits_of(const RowsDifference& rows);
[[nodiscard]] std::string bits_of(const ModelDifference& difference);
[[nodiscard]] std::string bits_of(const DialectReading& reading);
[[nodiscard]] std::string bits_of(const Identification& found);
[[nodiscard]] std::string bits_of(const KerpleLog& kerple);
[[nodiscard]] std::string bits_of(const KerplePower& kerple);

}  // namespace rotary::test
