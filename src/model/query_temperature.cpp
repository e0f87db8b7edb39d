// SPDX-License-Identifier: Apache-2.0
#include "rotary/query_temperature.hpp"

#include <algorithm>
#include <cmath>

#include "base/arithmetic_modes.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"

namespace rotary {
namespace {

struct FactorAt {
  std::int64_t position;

  double operator()(const NoTemperature&) const { return 1; }

  double operator()(const StepTemperature& rule) const {
    // The unsigned sum cannot wrap, because positions are below 2^63.
    const auto moved =
        static_cast<std::uint64_t>(position) + static_cast<std::uint64_t>(rule.offset);
    const auto steps = moved / static_cast<std::uint64_t>(rule.interval_tokens);
    return 1 + rule.scale * std::log1p(static_cast<double>(steps));
  }

  double operator()(const LognTemperature& rule) const {
    const double tokens = static_cast<double>(position) + 1;
    return std::max(1.0, std::log(tokens) / std::log(static_cast<double>(rule.trained_tokens)));
  }

  double operator()(const PowerTemperature& rule) const {
    const double tokens = static_cast<double>(position) + 1;
    return std::exp(rule.exponent * std::log1p(tokens / static_cast<double>(rule.interval_tokens)));
  }
};

Status checked_interval(std::int64_t tokens) {
  if (tokens >= 1) return {};
  return invalid_argument("the interval of a query temperature must be >= 1 token, got ", tokens);
}

struct Validate {
  Status operator()(const NoTemperature&) const { return {}; }

  Status operator()(const StepTemperature& rule) const {
    if (!(rule.scale >= 0 && rule.scale <= 0x1p20)) {
      return invalid_argument("the scale of a query temperature must be in [0, 2^20], got ",
                              rule.scale);
    }
    if (auto status = checked_interval(rule.interval_tokens); !status) return status;
    if (rule.offset == 0 || rule.offset == 1) return {};
    return invalid_argument("the offset of a query temperature must be 0 or 1, got ", rule.offset);
  }

  Status operator()(const LognTemperature& rule) const {
    if (rule.trained_tokens > 1) return {};
    return invalid_argument("the trained context of logn attention must be > 1 token, got ",
                            rule.trained_tokens);
  }

  Status operator()(const PowerTemperature& rule) const {
    if (!(rule.exponent >= 0 && rule.exponent <= 1)) {
      return invalid_argument("the exponent of a query temperature must be in [0, 1], got ",
                              rule.exponent);
    }
    return checked_interval(rule.interval_tokens);
  }
};

}  // namespace

Status validate(const QueryTemperature& temperature) noexcept {
  return guarded([&]() -> Status { return std::visit(Validate{}, temperature); });
}

double query_factor(const QueryTemperature& temperature, std::int64_t position) noexcept {
  const DefaultModes modes;
  return computed_here(std::visit(FactorAt{position}, temperature));
}

}  // namespace rotary
