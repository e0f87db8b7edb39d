// SPDX-License-Identifier: Apache-2.0
#include "rotary/query_temperature.hpp"

#include <algorithm>
#include <cmath>

namespace rotary {
namespace {

struct FactorAt {
  std::int64_t position;

  double operator()(const NoTemperature&) const { return 1; }

  double operator()(const StepTemperature& rule) const {
    // Positions are below 2^63, so adding 1 as unsigned cannot wrap.
    const auto moved =
        static_cast<std::uint64_t>(position) + static_cast<std::uint64_t>(rule.offset);
    const auto steps = moved / static_cast<std::uint64_t>(rule.interval_tokens);
    return 1 + rule.scale * std::log1p(static_cast<double>(steps));
  }

  double operator()(const LognTemperature& rule) const {
    const double tokens = static_cast<double>(position) + 1;
    return std::max(1.0, std::log(tokens) / std::log(static_cast<double>(rule.trained_tokens)));
  }
};

}  // namespace

double query_factor(const QueryTemperature& temperature, std::int64_t position) noexcept {
  return std::visit(FactorAt{position}, temperature);
}

}  // namespace rotary
