// SPDX-License-Identifier: Apache-2.0
#include "rotation/frequencies/xpos_factor.hpp"

#include <cmath>
#include <variant>

#include "base/message.hpp"
#include "tensor/position_access.hpp"

namespace rotary {
namespace {

// Checks pair 0, whose factor changes fastest. False for NaN.
bool is_within_range(const Xpos& xpos, long double position) {
  const long double doublings = (position - xpos.center) * xpos_doublings(xpos, Role::query, 0, 1);
  return std::abs(doublings) <= most_xpos_doublings;
}

template <class Number>
Error out_of_range(const Xpos& xpos, Number position) {
  return invalid_argument("xpos must keep its factors within [2^-60, 2^60], got position ",
                          position, " with center ", xpos.center, " and scale_base ",
                          xpos.scale_base);
}

// Factors are monotonic, so the first and the last position bound all others.
Status check(const Xpos& xpos, const ConsecutivePositions& positions) {
  if (positions.tokens < 1) return {};
  const std::int64_t last = positions.first + (positions.tokens - 1);
  for (const std::int64_t position : {positions.first, last}) {
    if (!is_within_range(xpos, static_cast<long double>(position))) {
      return out_of_range(xpos, position);
    }
  }
  return {};
}

// With a stride of 0 all tokens share one position, so one check serves any number of tokens.
template <class Number>
Status check(const Xpos& xpos, const TokenArray<Number>& positions) {
  if (positions.batch < 1 || positions.tokens < 1) return {};
  const std::int64_t tokens = positions.token_stride == 0 ? 1 : positions.tokens;
  for (std::int64_t batch = 0; batch < positions.batch; ++batch) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      const Number position = number_at(positions, batch, token);
      if (!is_within_range(xpos, static_cast<long double>(position))) {
        return out_of_range(xpos, position);
      }
    }
  }
  return {};
}

}  // namespace

Status validate(const Xpos& xpos) {
  if (!std::isfinite(xpos.scale_base) || xpos.scale_base <= 0) {
    return invalid_argument("xpos.scale_base must be finite and > 0, got ", xpos.scale_base);
  }
  if (!std::isfinite(xpos.center)) {
    return invalid_argument("xpos.center must be finite, got ", xpos.center);
  }
  return {};
}

Status check_xpos_range(const Xpos& xpos, const Positions& positions) {
  return std::visit([&](const auto& each) { return check(xpos, each); }, positions);
}

long double xpos_doublings(const Xpos& xpos, Role role, std::int64_t pair,
                           std::int64_t pairs) noexcept {
  // zeta = (2i/d + 2/5) / (7/5), with numerator and denominator times 5d; d = 2 * pairs.
  const long double zeta =
      static_cast<long double>(10 * pair + 4 * pairs) / static_cast<long double>(14 * pairs);
  const long double of_query = std::log2(zeta) / xpos.scale_base;
  return role == Role::query ? of_query : -of_query;
}

double xpos_factor(long double doublings) noexcept {
  const long double whole = std::nearbyint(doublings);
  return std::ldexp(std::exp2(static_cast<double>(doublings - whole)), static_cast<int>(whole));
}

}  // namespace rotary
