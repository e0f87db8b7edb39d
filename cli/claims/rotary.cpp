// SPDX-License-Identifier: Apache-2.0
// Claims 6, 7 and 8: what a rotation does not change.
#include <array>
#include <functional>
#include <numbers>
#include <numeric>

#include "cli/claims/claims.hpp"
#include "cli/claims/measure.hpp"
#include "rotary/attention.hpp"
#include "rotary/numeric_contract.hpp"
#include "rotary/scaling.hpp"

namespace rotary::cli::claims {
namespace {

constexpr std::int64_t trained_tokens = 4096;

RotarySpec scaled(Scaling scaling) {
  RotarySpec spec = rope(usual_head_dim);
  spec.scaling = std::move(scaling);
  return spec;
}

constexpr Llama3Scaling llama3{.factor = 8,
                               .low_freq_factor = 1,
                               .high_freq_factor = 4,
                               .original_context_tokens = trained_tokens};

// The share of the elements of 256 keys (seed 6) that change when the context doubles.
Number changed_keys(std::string_view name, const Scaling& scaling, Range expected) {
  const std::vector<double> keys = Random(6).normals(256 * usual_head_dim);
  const auto cached = [&](std::int64_t context_tokens) {
    const Frequencies frequencies = frequencies_of(scaled(scaling), context_tokens);
    return rotated(keys, rows_at(frequencies, ConsecutivePositions{.first = 0, .tokens = 256}));
  };
  const std::vector<double> before = cached(trained_tokens);
  const std::vector<double> after = cached(2 * trained_tokens);
  const double same = std::inner_product(before.begin(), before.end(), after.begin(), 0.0,
                                         std::plus<>(), std::equal_to<>());
  const double share = 1 - same / static_cast<double>(keys.size());
  return {.name = std::string(name), .value = share, .expected = expected};
}

Evidence keys_when_appending(Setting setting, std::vector<Number> numbers) {
  return judged(setting,
                "share of the elements of 256 rotated keys that change when the context grows from "
                "4096 to 8192 tokens (128 features, seed 6)",
                "no element changes", std::move(numbers),
                [](const Number& number) { return number.value == 0; });
}

std::vector<Evidence> cache_stable() {
  return {
      keys_when_appending(
          Setting::met,
          {changed_keys("no scaling", NoScaling{}, exactly(0)),
           changed_keys("linear", LinearScaling{.factor = 4}, exactly(0)),
           changed_keys("yarn", YarnScaling{.factor = 4, .original_context_tokens = trained_tokens},
                        exactly(0)),
           changed_keys("llama3", llama3, exactly(0))}),
      // The shares are below 1, because dynamic NTK keeps pair 0, and both rules keep position 0.
      keys_when_appending(
          Setting::unmet,
          {changed_keys("dynamic NTK",
                        DynamicNtkScaling{.factor = 2, .original_context_tokens = trained_tokens},
                        about(255 * 63 / (256 * 64.0), 0.01)),
           changed_keys(
               "longrope",
               LongRopeScaling{.short_factor = std::vector<double>(usual_head_dim / 2, 1.0),
                               .long_factor = std::vector<double>(usual_head_dim / 2, 4.0),
                               .original_context_tokens = trained_tokens,
                               .factor = 4},
               about(255 / 256.0, 0.01))}),
  };
}

// The largest change of the score when q and k move together, k from position 0 to one of `places`.
// q and k are random (seed 7), 100 positions apart, with |q||k| = 1.
double score_spread(const Frequencies& frequencies, std::span<const std::int64_t> places) {
  constexpr std::int64_t distance = 100;
  Random random(7);
  const std::vector<double> q = random.normals(usual_head_dim);
  const std::vector<double> k = random.normals(usual_head_dim);
  const auto score = [&](std::int64_t place) {
    return dot(rotated(q, rows_at(frequencies, place + distance)),
               rotated(k, rows_at(frequencies, place)));
  };
  double spread = 0;
  for (const std::int64_t place : places)
    spread = std::max(spread, std::abs(score(place) - score(0)));
  return spread / std::sqrt(dot(q, q) * dot(k, k));
}

// The largest error of 200 scores / sqrt(d) if q and k rotate in float32, as in models.
double error_of_float_angles(std::int64_t place) {
  constexpr std::int64_t distance = 100;
  constexpr std::int64_t pairs = 200;
  Random random(8);
  const std::vector<float> q = random.normals<float>(pairs * usual_head_dim);
  const std::vector<float> k = random.normals<float>(pairs * usual_head_dim);
  RotarySpec spec = rope(usual_head_dim);
  spec.numerics = Numerics::transformers;
  const Frequencies frequencies = frequencies_of(spec);
  const auto turned = [&](const std::vector<float>& values, std::int64_t position) {
    const std::vector<float> turned_values =
        rotated(values, value_or_fail(make_rotations(frequencies, ConsecutivePositions{position, 1},
                                                     {.tensors = DType::f32})));
    return std::vector<double>(turned_values.begin(), turned_values.end());
  };
  const std::vector<double> exact =
      scores_at(distance, plain_frequencies(), {q.begin(), q.end()}, {k.begin(), k.end()});
  const std::vector<double> q_turned = turned(q, place + distance);
  const std::vector<double> k_turned = turned(k, place);
  double largest = 0;
  for (std::size_t pair = 0; pair < exact.size(); ++pair) {
    const std::size_t first = pair * usual_head_dim;
    const double score = dot(std::span(q_turned).subspan(first, usual_head_dim),
                             std::span(k_turned).subspan(first, usual_head_dim));
    largest = std::max(largest, std::abs(score - exact[pair]));
  }
  return largest / std::sqrt(static_cast<double>(usual_head_dim));
}

// The attention weights of two equal queries on two equal keys, each 7 tokens before its query,
// among 256 keys (seed 9). One query is token 16, the other the last token.
std::array<double, 2> weights_at_one_distance() {
  constexpr std::size_t tokens = 256;
  constexpr std::size_t distance = 7;
  constexpr std::array<std::size_t, 2> places = {16, tokens - 1};
  Random random(9);
  std::vector<float> q = random.normals<float>(tokens * usual_head_dim);
  std::vector<float> k = random.normals<float>(tokens * usual_head_dim);
  const auto copy_token = [](std::vector<float>& values, std::size_t from, std::size_t to) {
    std::copy_n(&values[from * usual_head_dim], usual_head_dim, &values[to * usual_head_dim]);
  };
  copy_token(q, places[0], places[1]);
  copy_token(k, places[0] - distance, places[1] - distance);
  const Rotations rotations = value_or_fail(
      make_rotations(plain_frequencies(), ConsecutivePositions{.first = 0, .tokens = tokens}));
  q = rotated(std::move(q), rotations);
  k = rotated(std::move(k), rotations);

  // If the values are the identity, attention returns the matrix of weights.
  const std::vector<float> values = identity(tokens);
  std::vector<float> weights(values.size());
  const auto view = [](auto& of) {
    const auto features = static_cast<std::int64_t>(of.size() / tokens);
    return heads_view(of.data(), {.tokens = tokens, .heads = 1, .features = features});
  };
  ok_or_fail(attend(view(weights), view(q), view(k), view(values),
                    {.scale = 1 / std::sqrt(static_cast<double>(usual_head_dim)),
                     .mask = {.order = AttentionOrder::causal}}));
  const auto weight = [&](std::size_t place) {
    return static_cast<double>(weights[place * tokens + place - distance]);
  };
  return {weight(places[0]), weight(places[1])};
}

std::vector<Evidence> same_distance() {
  constexpr std::array<std::int64_t, 5> places = {1, 4096, 131072, 1 << 20, std::int64_t{1} << 31};
  const double spread = score_spread(plain_frequencies(), places);
  // Both vectors have errors in both components of each pair, hence 2 sqrt(2).
  const double bound = 2 * std::numbers::sqrt2 * 0x1p-53 *
                       rotate_f64_error_bound(Direction::forward, 1, (std::int64_t{1} << 31) + 100);
  const double at_131k = error_of_float_angles(131072);
  const double at_1m = error_of_float_angles(1 << 20);
  const auto [early, late] = weights_at_one_distance();
  return {as_claimed("random q and k of 128 features, |q||k| = 1, 100 tokens apart at 0, 1, 4096, "
                     "131072, 2^20 and 2^31, in double (seed 7)",
                     "the scores are equal within the rounding of double", spread <= bound,
                     {{"largest difference", spread, {0, bound}}}),
          beyond("200 random q and k 100 tokens apart, scores / sqrt(d), with the float32 angles "
                 "of Transformers (seed 8): difference from the exact score",
                 "the scores are equal within 1e-4", at_131k <= 1e-4,
                 {{"at 131,072 tokens", at_131k, {1.3e-3, 3.3e-3}},
                  {"at 1,048,576 tokens", at_1m, {8e-3, 2.8e-2}}}),
          beyond("attention weights of equal q and k, 7 tokens apart; the query is token 16 or "
                 "token 255 (seed 9)",
                 "the weights are equal within 1 %", std::abs(late / early - 1) <= 0.01,
                 {{"weight for token 16", early, {0, 1}},
                  {"weight for token 255 / for token 16", late / early, {0, 0.5}}})};
}

double norm_ratio(const Rotations& rotations) {
  const std::vector<double> x = Random(10).normals(usual_head_dim);
  const std::vector<double> y = rotated(x, rotations);
  return std::sqrt(dot(y, y) / dot(x, x));
}

Number norm_under(std::string_view name, const Scaling& scaling, Range expected) {
  const double ratio = norm_ratio(rows_at(frequencies_of(scaled(scaling)), 5000));
  return {.name = std::string(name), .value = ratio, .expected = expected};
}

Evidence norms(Setting setting, std::vector<Number> numbers) {
  constexpr double rounding = 1e-14;  // of a sum of 128 squares: 64 * 2^-53
  return judged(setting,
                "length of a vector of 128 features after rotating it to position 5000, divided by "
                "its length before, in double (seed 10)",
                "the ratio is 1 within 1e-14", std::move(numbers),
                [](const Number& number) { return std::abs(number.value - 1) <= rounding; });
}

std::vector<Evidence> kept_norm() {
  const Range one = about(1, 1e-14);
  RotarySpec xpos = rope(usual_head_dim);
  xpos.xpos = Xpos{};
  const double of_query =
      norm_ratio(value_or_fail(make_rotations(frequencies_of(xpos), ConsecutivePositions{5000, 1},
                                              {.rows = RowDType::f64, .role = Role::query})));
  const double yarn = 0.1 * std::log(16.0) + 1;  // 1.2773
  return {norms(Setting::met, {norm_under("no scaling", NoScaling{}, one),
                               norm_under("linear", LinearScaling{.factor = 4}, one),
                               norm_under("llama3", llama3, one)}),
          norms(Setting::unmet,
                {norm_under("yarn, factor 16",
                            YarnScaling{.factor = 16, .original_context_tokens = trained_tokens},
                            about(yarn, 1e-12)),
                 {"xPos, a query", of_query, {0, 0.9}}})};
}

}  // namespace

std::vector<Claim> rotary_claims() {
  using enum Verdict;
  return {
      {6, "cache-stable",
       "rotated keys of earlier tokens stay as they are when tokens are appended", holds_only_if,
       "frequencies do not depend on the length of the context. Those of dynamic NTK and "
       "LongRoPE do, so cached keys become wrong when it grows (shift() corrects them)",
       cache_stable,
       Publications{{"keys must be cached before rotary embedding if frequencies change",
                     "Peng et al. 2023, YaRN, arXiv 2309.00071"}}},
      {7, "same-distance", "two tokens at one distance have the same dot product at all positions",
       holds_only_if,
       "q and k stay the same and angles are exact. The error of float32 angles grows with the "
       "position, and an attention weight depends on all other keys",
       same_distance},
      {8, "norm", "rotary embedding keeps the length of q and k", holds_only_if,
       "there is no attention factor (YaRN, LongRoPE) and no xPos, which also scale vectors",
       kept_norm},
  };
}

}  // namespace rotary::cli::claims
