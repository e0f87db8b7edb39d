// SPDX-License-Identifier: Apache-2.0
// Claims 11 and 17: the values of the frequencies. Claim 25: how far a pair reaches. Claims 15 and
// 16: the effect on longer sequences.
#include <fmt/format.h>

#include <functional>
#include <limits>
#include <numbers>

#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "cli/commands/model_text.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/scaling.hpp"

namespace rotary::cli::claims {
namespace {

struct SlowestPair {
  std::string name;
  Scaling scaling;
  std::int64_t head_dim;
  double inv_freq;    // expected, as printed with five digits
  double wavelength;  // expected, in tokens
};

Evidence slowest_pairs(Setting setting, const std::vector<SlowestPair>& cases) {
  std::vector<Number> numbers;
  const auto ends_at_1_over_base = [&](const SlowestPair& each) {
    RotarySpec spec = rope(each.head_dim);
    spec.scaling = each.scaling;
    const std::vector<double> inv_freq = frequencies_of(spec).inv_freq;
    const double last = inv_freq.back();
    numbers.push_back({"frequency, " + each.name, last, about(each.inv_freq, 5e-9)});
    numbers.push_back(
        {"wavelength, " + each.name, 2 * std::numbers::pi / last, about(each.wavelength, 0.5)});
    return std::ranges::is_sorted(inv_freq, std::greater_equal<>()) &&
           std::abs(last * usual_base - 1) <= 0.01;
  };
  std::vector<bool> hold;
  hold.reserve(cases.size());
  for (const SlowestPair& each : cases) hold.push_back(ends_at_1_over_base(each));
  return {
      "the last pair, base 10000: its frequency (radians per token) and its wavelength (tokens)",
      "frequencies fall from pair to pair, and the last is within 1 % of 1/base", setting,
      holds_for(setting, hold, std::identity()), numbers};
}

std::vector<Evidence> slow_pairs() {
  return {slowest_pairs(Setting::unmet, {{"d = 64", NoScaling{}, 64, 1.3335e-4, 47117},
                                         {"d = 128", NoScaling{}, 128, 1.1548e-4, 54410},
                                         {"d = 256", NoScaling{}, 256, 1.0746e-4, 58470}}),
          slowest_pairs(Setting::met,
                        {{"d = 4096, which no head has", NoScaling{}, 4096, 1.0045e-4, 62550},
                         {"RetNet's exponents, d = 128", RetNetScaling{}, 128, 1e-4, 62832}})};
}

// The score of q with an equal k, by distance. `pairs` pairs from `first` on have equal weight, all
// other pairs none. The score at distance 0 is 1.
std::vector<double> score_of_pairs(std::size_t first, std::size_t pairs, std::int64_t distances) {
  return plot::of_turned(
      plain_frequencies(), plot::evenly(distances - 1, distances),
      [&](const plot::TurnedRow& row) { return mean(row.cos.subspan(first, pairs)); });
}

// The first distance with a score below 0.5.
std::int64_t reach(std::span<const double> scores) {
  return std::ranges::find_if(scores, [](double score) { return score < 0.5; }) - scores.begin();
}

struct ChosenPairs {
  std::string name;
  std::size_t first, count;
  double most_beyond;  // expected: the highest score at the reach or beyond
};

Evidence stays_below(Setting setting, const std::vector<ChosenPairs>& cases) {
  std::vector<Number> numbers;
  for (const auto& [name, first, count, expected] : cases) {
    const std::vector<double> scores = score_of_pairs(first, count, 4096);
    numbers.push_back(
        {name, std::ranges::max(std::span(scores).subspan(static_cast<std::size_t>(reach(scores)))),
         about(expected, 5e-6)});
  }
  return judged(
      setting,
      "q = k of 128 features, base 10000, all weight in some pairs, score 1 at distance 0: the "
      "highest score within 4096 tokens after the first one below a half",
      "it stays below a half", std::move(numbers),
      [](const Number& number) { return number.value < 0.5; });
}

std::vector<Evidence> fast_near_slow_far() {
  std::vector<Number> reaches;
  for (const auto& [pair, expected] :
       {std::pair{0, 2}, {16, 11}, {32, 105}, {48, 1048}, {63, 9069}}) {
    const auto first = static_cast<std::size_t>(pair);
    reaches.push_back({fmt::format("pair {}", pair),
                       static_cast<double>(reach(score_of_pairs(first, 1, expected + 1))),
                       exactly(expected)});
  }
  const std::vector<double> slowest = score_of_pairs(63, 1, 4096);
  return {stays_below(Setting::met, {{"pair 48, which turns in 6283 tokens", 48, 1, 0.499305},
                                     {"pair 56, in 19,869", 56, 1, 0.499871},
                                     {"the fast half, pairs 0 to 31", 0, 32, 0.474688},
                                     {"the slow half, pairs 32 to 63", 32, 32, 0.499776}}),
          stays_below(Setting::unmet, {{"pair 0, which turns in 6.3 tokens", 0, 1, 1},
                                       {"pair 16, in 63", 16, 1, 1},
                                       {"pair 32, in 628", 32, 1, 1},
                                       {"pairs 0 to 7", 0, 8, 0.790905},
                                       {"all 64 pairs", 0, 64, 0.546172}}),
          aside("one pair with all weight: the first distance whose score is below a half",
                "it is a sixth of the pair's turn, so slower pairs reach farther",
                std::ranges::is_sorted(reaches, {}, &Number::value), reaches),
          aside("the slowest pair, 63", "its scores far away and near are about equal",
                slowest[1] - slowest[1000] < 0.01,
                {{"score at 1 token", slowest[1], about(1, 1e-6)},
                 {"score at 1000 tokens", slowest[1000], about(0.993340, 1e-6)}})};
}

std::vector<Evidence> no_parameters() {
  double largest = 0;
  for (const std::int64_t head_dim : {64, 128, 256}) {
    for (const double base : {1e4, 5e5}) {
      const std::vector<double> inv_freq = plain_frequencies(head_dim, base).inv_freq;
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
  return {as_claimed("frequencies of heads of 64, 128 and 256 features, base 1e4 and 5e5, against "
                     "base^(-2i/d)",
                     "head_dim and base of the config determine every frequency",
                     largest <= 0x1p-50, {{"largest relative difference", largest, {0, 0x1p-50}}}),
          aside("T5's bias of 12 heads", "other encodings have learned numbers",
                parameter_count(t5) > 0,
                {{"learned numbers of T5's bias", static_cast<double>(parameter_count(t5)),
                  exactly(384)}})};
}

struct Reach {
  std::string_view what;
  double base;
  std::int64_t distances;  // in use
  double first_negative;   // expected: equals `distances` if the mean is never negative
};

// The first distance with a negative cosine; `distances` if there is none.
double positive_until(double base, std::int64_t distances) {
  return static_cast<double>(
      first_negative(similarity(plain_frequencies(usual_head_dim, base), distances)));
}

Evidence positive_in_use(Setting setting, const std::vector<Reach>& cases) {
  std::vector<Number> numbers;
  std::vector<bool> hold;
  for (const auto& [what, base, distances, expected] : cases) {
    numbers.push_back({std::string(what), positive_until(base, distances), exactly(expected)});
    hold.push_back(numbers.back().value == static_cast<double>(distances));
  }
  return {
      "q = k, 128 features: the first distance r with a negative cosine, the mean of cos(r "
      "inv_freq); if there is none, the number of distances in use",
      "it is positive at every distance in use", setting, holds_for(setting, hold, std::identity()),
      numbers};
}

std::vector<Evidence> larger_base() {
  const std::vector<double> raised = similarity(plain_frequencies(usual_head_dim, 5e5), 1001);
  const double rise = largest_rise(raised);
  // Tries one base after the other, because 26,957 holds and the larger base 27,208 fails.
  double enough = 1000 * std::pow(1.01, 300);
  while (positive_until(enough, 4096) < 4096) enough *= 1.01;
  return {positive_in_use(Setting::met, {{"base 5e5, 16,384 tokens", 5e5, 16384, 16384},
                                         {"base 1e4, a window of 1024", 1e4, 1024, 1024}}),
          positive_in_use(Setting::unmet, {{"base 1e4, 4096 tokens", 1e4, 4096, 1707},
                                           {"base 5e5, 32,768 tokens", 5e5, 32768, 18438}}),
          aside("a larger base: the bumps that remain, and the base that a context needs",
                "bumps stay about as high", rise > 0.2,
                {{"largest rise within 1000 tokens, base 5e5", rise, about(0.2209, 5e-4)},
                 {"first base of a 1 % grid for 4096 tokens", enough, about(28800, 100)}})};
}

// The largest error of cos and sin over 200 positions, with float32 angles as in Transformers.
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

// The error has two sources: the product's rounding and a frequency that is off by up to an ulp.
Number float_rows(std::string_view name, std::int64_t first) {
  const auto position = static_cast<double>(first);
  return {.name = std::string(name),
          .value = error_of_float_rows(first),
          .expected = {position * 0x1p-26, position * 0x1p-23}};
}

std::vector<Evidence> any_length() {
  const double new_angles =
      usual_head_dim / 2.0 - static_cast<double>(pairs_that_turn(plain_frequencies(), 4096));
  const Number at_131k = float_rows("from 131,072", 131072);
  // Even at the last int64 position, the exact row is on the unit circle.
  const Rotations last = rows_at(plain_frequencies(), std::numeric_limits<std::int64_t>::max());
  double off_circle = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(usual_head_dim / 2); ++i) {
    const double length = std::hypot(last.cos<double>(0, 0)[i], last.sin<double>(0, 0)[i]);
    off_circle = std::max(off_circle, std::abs(length - 1));
  }
  return {
      as_claimed("128 features, base 10000, trained on 4096 tokens and used on 8192: pairs with "
                 "a wavelength above 4096, which come to new angles",
                 "no pair meets an angle that training did not show", new_angles == 0,
                 {{"pairs with new angles, of 64", new_angles, exactly(18)}}),
      as_claimed("cos and sin of float32 angles (Transformers) against the exact ones: largest "
                 "difference over 200 positions",
                 "at most 1e-3", at_131k.value <= 1e-3,
                 {float_rows("from 4096", 4096), at_131k, float_rows("from 1,048,576", 1 << 20)}),
      aside("the exact row at position 2^63 - 1", "the closed form itself has no end",
            off_circle <= 0x1p-49, {{"largest |hypot(cos, sin) - 1|", off_circle, {0, 0x1p-49}}})};
}

}  // namespace

std::vector<Claim> frequency_claims() {
  using enum Verdict;
  return {
      {11, "slow-pairs", "the first pair turns fastest, the last one slowest, at about 1/base",
       holds_only_if,
       "\"about\" allows a factor of base^(2/d): the last pair turns by base^(-1 + 2/d), 33 % "
       "more than 1/base for 64 features and 15 % more for 128",
       slow_pairs},
      {25, "fast-near-slow-far",
       "a token with its weight in fast pairs attends near, one with its weight in slow pairs "
       "attends far",
       holds_only_if,
       "a turn is longer than 1.2 times the context, or the weight is spread evenly over the "
       "fast or the slow half. A fast pair comes round: it scores the same at 710 tokens as at "
       "0. A slow one attends near as well as far",
       fast_near_slow_far,
       Publications{{"Gemma 7B attends by position with its fastest pairs, and uses the slowest "
                     "ones most",
                     "Barbero et al. 2024, arXiv 2410.06205"}}},
      {17, "no-parameters", "rotary embedding has no learned parameters", holds,
       "head_dim and base determine the frequencies. LongRoPE's lists come from a search on "
       "data, and a model may still need training to read positions",
       no_parameters},
      {15, "larger-base",
       "a larger base, or local attention, keeps similarity from dying out and rising again",
       holds_only_if,
       "the base grows with the context, or windows end before the first zero. With 128 features "
       "base 1e4 serves 1,707 tokens and 5e5 serves 18,438. Bumps stay, and only training shows "
       "quality",
       larger_base,
       Publications{{"the base must grow as 0.0424 L^1.628 with the context L",
                     "Men et al. 2024, arXiv 2405.14591"}}},
      {16, "any-length",
       "rotary embedding is a closed form, so it extends to much longer sequences without any "
       "issues",
       fails,
       "the formula has no end, but slow pairs come to angles that training never showed, float32 "
       "angles lose digits, and published models break down",
       any_length,
       Publications{
           {"LLaMA 7B, trained on 2048 tokens: perplexity 7.20, above 1000 at 4096",
            "Chen et al. 2023, arXiv 2306.15595, table 1"},
           {"Llama 2 13B, trained on 4096: loss 1.4967, 8.8615 at 8192", "Su 2023, bojone/rerope"},
           {"a code model of 1.3 billion trained on 1024: perplexity 2.146, 2.749 at 1200, 251.7 "
            "at 1400",
            "Kazemnejad et al. 2023, arXiv 2305.19466, table 3"},
           {"WikiText-103, trained on 512: perplexity 20.07, 21.37 at 1012, 31.58 at 2512, 79.25 "
            "at 15512",
            "Press et al. 2022, arXiv 2108.12409, table 2"}},
       Experiments{"e1-causal-lm"}},
  };
}

}  // namespace rotary::cli::claims
