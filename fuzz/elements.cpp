// SPDX-License-Identifier: Apache-2.0
#include "fuzz/elements.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "fuzz/check.hpp"
#include "rotary/numeric_contract.hpp"
#include "tests/support/contract.hpp"

namespace rotary::fuzz {
namespace {

// Converts to float32 towards zero and sets the last bit if any bit was cut off. Rounding that to
// fewer bits then equals rounding the double.
float to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  const bool is_beyond = std::abs(static_cast<double>(nearest)) > std::abs(value);
  const float below = is_beyond ? std::nextafter(nearest, 0.0F) : nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(below) | 1U);
}

struct ExactPair {
  long double x = 0;
  long double y = 0;
  long double hypot = 0;
};

ExactPair exact_pair(const Turn& turn, const Pair& in) {
  long double cos = turn.cos;
  long double sin = turn.direction == Direction::forward ? turn.sin : -turn.sin;
  if (turn.direction == Direction::inverse) {
    const long double square = static_cast<long double>(turn.attention_factor) *
                               static_cast<long double>(turn.attention_factor);
    cos /= square;
    sin /= square;
  }
  const long double x = in.x * cos - in.y * sin;
  const long double y = in.x * sin + in.y * cos;
  return {.x = x, .y = y, .hypot = std::sqrt(x * x + y * y)};
}

// Uses the rows as they are, so the position does not matter.
test::Rotated rotated(const Turn& turn) {
  return {.dtype = turn.dtype,
          .direction = turn.direction,
          .attention_factor = turn.attention_factor,
          .position = 0};
}

}  // namespace

std::uint64_t bits_of(DType dtype, double value) {
  return test::bits_of(dtype, dtype == DType::bf16 ? to_odd(value) : value);
}

bool is_rounded(DType dtype, const std::byte* element, double value) {
  const std::uint64_t bits = bits_of(dtype, value);
  const auto size = static_cast<std::size_t>(size_in_bytes(dtype));
  if (std::memcmp(element, &bits, size) == 0) return true;  // little endian: the lowest bytes
  return std::isnan(value) && std::isnan(value_at(dtype, element));
}

bool is_within_range(const Turn& turn, const Pair& in) {
  if (!std::isfinite(in.x) || !std::isfinite(in.y)) return false;
  const auto hypot = static_cast<double>(exact_pair(turn, in).hypot);
  if (hypot == 0) return in.x == 0 && in.y == 0;
  if (turn.dtype == DType::f64) return hypot >= 0x1p-900 && hypot <= 0x1p900;
  return hypot >= 0x1p-100 && hypot <= 0x1p100;
}

bool keeps_contract(const Turn& turn, const Pair& in, const Pair& out) {
  const ExactPair exact = exact_pair(turn, in);
  const auto by = rotated(turn);
  const double bound = test::error_bound(by, exact.hypot);
  return test::error_units(by, out.x, exact.x, exact.hypot) <= bound &&
         test::error_units(by, out.y, exact.y, exact.hypot) <= bound;
}

bool agree(const Turn& turn, const Pair& in, const std::array<Pair, 2>& outs) {
  const auto& [one, other] = outs;
  // An f16 may be Inf in one result and almost Inf in the other. Each has been checked alone.
  if (std::isinf(one.x + other.x) || std::isinf(one.y + other.y)) return true;
  const ExactPair exact = exact_pair(turn, in);
  auto by = rotated(turn);
  by.position = turn.position;
  const double bound = 2 * test::error_bound(by, exact.hypot) * test::error_unit(turn.dtype) *
                       static_cast<double>(exact.hypot);
  return std::abs(one.x - other.x) <= bound && std::abs(one.y - other.y) <= bound;
}

}  // namespace rotary::fuzz
