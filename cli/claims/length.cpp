// SPDX-License-Identifier: Apache-2.0
// Claims 15 and 16: longer sequences.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"

namespace rotary::cli::claims {
namespace {

struct Reach {
  std::string_view what;
  double base;
  std::int64_t distances;  // in use
  double first_negative;   // expected: all that are in use, where the mean never is
};

std::int64_t positive_until(const Reach& reach) {
  return first_negative(
      similarity(frequencies_of(rope(usual_head_dim, reach.base)), reach.distances));
}

Evidence positive_in_use(Setting setting, const std::vector<Reach>& cases) {
  Evidence evidence{.computed =
                        "q = k, 128 features: the first distance at which the cosine, the "
                        "mean of cos(r inv_freq), is negative (or all that are in use)",
                    .relation = "it is positive at every distance in use",
                    .setting = setting,
                    .holds = holds_for(setting, cases,
                                       [](const Reach& reach) {
                                         return positive_until(reach) == reach.distances;
                                       }),
                    .numbers = {}};
  for (const Reach& reach : cases) {
    evidence.numbers.push_back({std::string(reach.what), static_cast<double>(positive_until(reach)),
                                exactly(reach.first_negative)});
  }
  return evidence;
}

// The first base of the grid 1000 * 1.01^n, from n = 300 on, whose cosine is nowhere negative
// within so many tokens. A grid, because larger ones may fail again: of 4096 tokens 26,957 does
// not, and the bases around it do.
double first_base_for(std::int64_t tokens) {
  double base = 1000 * std::pow(1.01, 300);
  while (first_negative(similarity(frequencies_of(rope(usual_head_dim, base)), tokens)) < tokens)
    base *= 1.01;
  return base;
}

std::vector<Evidence> larger_base() {
  const std::vector<double> raised = similarity(frequencies_of(rope(usual_head_dim, 5e5)), 1001);
  const double rise = largest_rise(raised);
  const double enough = first_base_for(4096);
  return {positive_in_use(Setting::met, {{"base 5e5, 16,384 tokens", 5e5, 16384, 16384},
                                         {"base 1e4, a window of 1024", 1e4, 1024, 1024}}),
          positive_in_use(Setting::unmet, {{"base 1e4, 4096 tokens", 1e4, 4096, 1707},
                                           {"base 5e5, 32,768 tokens", 5e5, 32768, 18438}}),
          {.computed = "what a larger base leaves, and how large it has to be",
           .relation = "bumps stay about as high as they were",
           .setting = Setting::aside,
           .holds = rise > 0.2,
           .numbers = {{"largest rise within 1000 tokens, base 5e5", rise, about(0.2209, 5e-4)},
                       {"first base of a 1 % grid for 4096 tokens", enough, about(28800, 100)}}}};
}

// Pairs that meet angles within so many tokens that they do not meet within the trained ones: those
// that have not come round once.
double pairs_with_new_angles(const Frequencies& frequencies, std::int64_t seen_tokens) {
  const auto turns_within = [&](double inv_freq) {
    return inv_freq * static_cast<double>(seen_tokens) / (2 * std::numbers::pi);
  };
  return static_cast<double>(std::ranges::count_if(
      frequencies.inv_freq, [&](double inv_freq) { return turns_within(inv_freq) < 1; }));
}

// Largest difference between cos and sin of float32 angles, as Transformers forms them, and the
// exact ones, over 200 positions.
double error_of_float_rows(std::int64_t first) {
  RotarySpec spec = rope(usual_head_dim);
  const ConsecutivePositions positions{.first = first, .tokens = 200};
  const Rotations exact = rows_at(frequencies_of(spec), positions);
  spec.numerics = Numerics::transformers;
  const Rotations rounded =
      value_or_fail(make_rotations(frequencies_of(spec), positions, {.tensors = DType::f32}));
  double largest = 0;
  for (std::int64_t t = 0; t < positions.tokens; ++t) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(usual_head_dim / 2); ++i) {
      const double cos = static_cast<double>(rounded.cos(0, t)[i]) - exact.cos<double>(0, t)[i];
      const double sin = static_cast<double>(rounded.sin(0, t)[i]) - exact.sin<double>(0, t)[i];
      largest = std::max(largest, std::hypot(cos, sin));
    }
  }
  return largest;
}

// What it can be: the product's rounding and a frequency that is off by up to an ulp.
Number float_rows(std::string_view name, std::int64_t first) {
  const auto position = static_cast<double>(first);
  return {.name = std::string(name),
          .value = error_of_float_rows(first),
          .expected = {position * 0x1p-26, position * 0x1p-23}};
}

std::vector<Evidence> any_length() {
  const double new_angles = pairs_with_new_angles(frequencies_of(rope(usual_head_dim)), 4096);
  const Number at_131k = float_rows("from 131,072", 131072);
  // The exact row at the last position there is still lies on the circle.
  const Rotations last =
      rows_at(frequencies_of(rope(usual_head_dim)), std::numeric_limits<std::int64_t>::max());
  double off_circle = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(usual_head_dim / 2); ++i) {
    const double length = std::hypot(last.cos<double>(0, 0)[i], last.sin<double>(0, 0)[i]);
    off_circle = std::max(off_circle, std::abs(length - 1));
  }
  return {
      {.computed = "128 features, base 10000, trained on 4096 tokens, used on 8192: pairs with a "
                   "wavelength beyond 4096, whose angles go where they never were",
       .relation = "no pair meets an angle that training did not show",
       .setting = Setting::met,
       .holds = new_angles == 0,
       .numbers = {{"pairs with new angles, of 64", new_angles, exactly(18)}}},
      {.computed = "cos and sin of float32 angles (Transformers) beside the exact ones, the "
                   "largest difference over 200 positions",
       .relation = "at most 1e-3",
       .setting = Setting::met,
       .holds = at_131k.value <= 1e-3,
       .numbers = {float_rows("from 4096", 4096), at_131k, float_rows("from 1,048,576", 1 << 20)}},
      {.computed = "the exact row at position 2^63 - 1",
       .relation = "the closed form itself has no end",
       .setting = Setting::aside,
       .holds = off_circle <= 0x1p-49,
       .numbers = {{"largest |hypot(cos, sin) - 1|", off_circle, {0, 0x1p-49}}}}};
}

}  // namespace

std::vector<Claim> length_claims() {
  return {
      {.number = 15,
       .name = "larger-base",
       .statement = "a larger base, or local attention, keeps similarity from dying out and rising "
                    "again",
       .verdict = Verdict::holds_only_if,
       .condition =
           "the base grows with the context, or windows end before the first zero: of 128 "
           "features 1e4 serves 1,707 tokens and 5e5 18,438; bumps stay, and quality needs "
           "training",
       .examine = larger_base,
       .published = {{"the base has to grow as 0.0424 L^1.628 with the context L",
                      "Men et al. 2024, arXiv 2405.14591"}}},
      {.number = 16,
       .name = "any-length",
       .statement = "rotary embedding is a closed form, so it extends to much longer sequences "
                    "without any issues",
       .verdict = Verdict::fails,
       .condition = "the formula has no end, but slow pairs come to angles that training never "
                    "showed, float32 angles lose digits, and published models break down",
       .examine = any_length,
       .published = {{"LLaMA 7B, trained on 2048 tokens: perplexity 7.20, above 1000 at 4096",
                      "Chen et al. 2023, arXiv 2306.15595, table 1"},
                     {"Llama 2 13B, trained on 4096: loss 1.4967, 8.8615 at 8192",
                      "Su 2023, bojone/rerope"},
                     {"a code model of 1.3 billion trained on 1024: perplexity 2.146, 2.749 at "
                      "1200, 251.7 at 1400",
                      "Kazemnejad et al. 2023, arXiv 2305.19466, table 3"},
                     {"WikiText-103, trained on 512: perplexity 20.07, 21.37 at 1012, 31.58 at "
                      "2512, 79.25 at 15512",
                      "Press et al. 2022, arXiv 2108.12409, table 2"}},
       .experiments = {"e1-causal-lm"}},
  };
}

}  // namespace rotary::cli::claims
