// SPDX-License-Identifier: Apache-2.0
// Claims 11 and 17: where the frequencies come from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/scaling.hpp"

namespace rotary::cli::claims {
namespace {

struct SlowestPair {
  std::string name;
  Scaling scaling;
  std::int64_t head_dim;
  double inv_freq;    // expected, as printed with five digits
  double wavelength;  // tokens, likewise
};

std::vector<double> inv_freq_of(const SlowestPair& slowest) {
  RotarySpec spec = rope(slowest.head_dim);
  spec.scaling = slowest.scaling;
  return frequencies_of(spec).inv_freq;
}

bool ends_at_1_over_base(const SlowestPair& slowest) {
  const std::vector<double> inv_freq = inv_freq_of(slowest);
  return std::ranges::is_sorted(inv_freq, std::greater_equal<>()) &&
         std::abs(inv_freq.back() * usual_base - 1) <= 0.01;
}

Evidence slowest_pairs(Setting setting, const std::vector<SlowestPair>& cases) {
  Evidence evidence{.computed =
                        "the last pair, base 10000: its frequency (radians per token) and "
                        "its wavelength (tokens)",
                    .relation =
                        "frequencies fall from pair to pair, and the last is within 1 % of "
                        "1/base",
                    .setting = setting,
                    .holds = holds_for(setting, cases, ends_at_1_over_base),
                    .numbers = {}};
  for (const SlowestPair& each : cases) {
    const double inv_freq = inv_freq_of(each).back();
    evidence.numbers.push_back(
        {fmt::format("frequency, {}", each.name), inv_freq, about(each.inv_freq, 5e-9)});
    evidence.numbers.push_back({fmt::format("wavelength, {}", each.name),
                                2 * std::numbers::pi / inv_freq, about(each.wavelength, 1)});
  }
  return evidence;
}

std::vector<Evidence> slow_pairs() {
  return {slowest_pairs(Setting::unmet, {{"d = 64", NoScaling{}, 64, 1.3335e-4, 47117},
                                         {"d = 128", NoScaling{}, 128, 1.1548e-4, 54410},
                                         {"d = 256", NoScaling{}, 256, 1.0746e-4, 58470}}),
          slowest_pairs(Setting::met,
                        {{"d = 4096, which no head has", NoScaling{}, 4096, 1.0045e-4, 62550},
                         {"RetNet's exponents, d = 128", RetNetScaling{}, 128, 1e-4, 62832}})};
}

std::vector<Evidence> no_parameters() {
  double largest = 0;
  for (const std::int64_t head_dim : {64, 128, 256}) {
    for (const double base : {1e4, 5e5}) {
      const std::vector<double> inv_freq = frequencies_of(rope(head_dim, base)).inv_freq;
      for (std::size_t i = 0; i < inv_freq.size(); ++i) {
        const double formula =
            std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(head_dim));
        largest = std::max(largest, std::abs(inv_freq[i] / formula - 1));
      }
    }
  }
  const std::vector<double> table(32 * std::size_t{12});
  const RelativeBias t5 = T5Bias{
      .buckets = {.buckets = 32, .max_distance = 128, .direction = T5Direction::bidirectional},
      .table = {
          .data = table.data(), .dtype = DType::f64, .rows = 32, .features = 12, .row_stride = 12}};
  return {
      {.computed = "frequencies of heads of 64, 128 and 256 features, base 1e4 and 5e5, against "
                   "base^(-2i/d)",
       .relation = "two numbers of the config, head_dim and base, are all there is",
       .setting = Setting::met,
       .holds = largest <= 0x1p-50,
       .numbers = {{"largest relative difference", largest, {0, 0x1p-50}}}},
      {.computed = "T5's bias of 12 heads",
       .relation = "other encodings have numbers that are learned",
       .setting = Setting::aside,
       .holds = parameter_count(t5) > 0,
       .numbers = {{"learned numbers of T5's bias", static_cast<double>(parameter_count(t5)),
                    exactly(384)}}}};
}

}  // namespace

std::vector<Claim> frequency_claims() {
  return {
      {.number = 11,
       .name = "slow-pairs",
       .statement = "the first pair turns fastest, the last one slowest, at about 1/base",
       .verdict = Verdict::holds_only_if,
       .condition =
           "\"about\" covers a factor of base^(2/d): the last pair has base^(-1 + 2/d), 33 % "
           "more than 1/base of 64 features, 15 % of 128",
       .examine = slow_pairs},
      {.number = 17,
       .name = "no-parameters",
       .statement = "rotary embedding has no learned parameters",
       .verdict = Verdict::holds,
       .condition = "the frequencies follow from head_dim and base; LongRoPE's lists are searched "
                    "on data, and nothing says that a model needs no training to read positions",
       .examine = no_parameters},
  };
}

}  // namespace rotary::cli::claims
