// SPDX-License-Identifier: Apache-2.0
// Relative biases, Shaw's vectors and CoPE.
#include <array>
#include <cstdint>

#include "public_calls/cases.hpp"
#include "public_calls/elements.hpp"
#include "rotary/relative.hpp"

namespace rotary::test {
namespace {

constexpr std::int64_t heads = 3;
constexpr ScoresExtents block{.heads = heads, .queries = 4, .keys = 6};
constexpr BiasRange range{.first_query = 2, .first_key = 0};
constexpr std::array<std::int64_t, 4> some_queries = {5, 6, 9, 20};
constexpr std::array<std::int64_t, 6> some_keys = {0, 1, 5, 6, 8, 9};
const BiasPositions apart{.queries = some_queries, .keys = some_keys};

struct NamedBias {
  std::string what;
  RelativeBias bias;
};

std::vector<NamedBias> biases() {
  static Elements table(32 * heads);
  const std::vector<double> numbers(heads, 0.5);
  const std::vector<double> units(8, 0.5);
  return {{"t5", T5Bias{.buckets = {.buckets = 32,
                                    .max_distance = 128,
                                    .direction = T5Direction::bidirectional},
                        .table = table.matrix(32, heads)}},
          {"alibi", Alibi{.heads = heads}},
          {"alibi by key position", Alibi{.heads = heads, .form = AlibiForm::key_position}},
          {"learned slopes", Alibi{.heads = heads, .slopes = numbers}},
          {"subnormal slopes", Alibi{.heads = heads, .slopes = {1e-39, 3e-41, 1e-310}}},
          {"kerple log", KerpleLog{.p = numbers, .a = numbers}},
          {"kerple power", KerplePower{.a = numbers, .p = numbers}},
          {"fire", Fire{.hidden_weight = units,
                        .hidden_bias = units,
                        .output_weight = std::vector<double>(heads * 8, 0.25),
                        .output_bias = numbers}},
          {"sandwich", Sandwich{.dim = 8, .heads = heads}},
          {"no heads", Alibi{}},
          {"units that do not match", Fire{.hidden_weight = units, .output_bias = numbers}}};
}

std::string of_biases(std::string_view function, std::string_view last_parameter) {
  std::string symbol = "rotary::";
  return symbol.append(function).append("rotary::RelativeBias const&").append(last_parameter);
}

void add_fill(std::vector<Case>& cases, const NamedBias& each) {
  static const std::string by_range =
      of_biases("fill_bias(rotary::ScoresView const&, ", ", rotary::BiasRange const&)");
  static const std::string by_position =
      of_biases("fill_bias(rotary::ScoresView const&, ", ", rotary::BiasPositions const&)");
  const RelativeBias bias = each.bias;
  const SharedElements out = elements(heads * 4 * 6);
  cases.push_back(case_of(by_range, each.what,
                          [=] { return fill_bias(out->scores(block), bias, range); },
                          {out->bytes()}));
  cases.push_back(case_of(by_position, each.what,
                          [=] { return fill_bias(out->scores(block), bias, apart); },
                          {out->bytes()}));
  cases.push_back(case_of("rotary::fill_distances(", each.what,
                          [=] {
                            return fill_distances(
                                out->scores({.heads = heads, .queries = 1, .keys = 6}), bias, -3);
                          },
                          {out->bytes()}));
  cases.push_back(case_of("rotary::bias_at(", each.what,
                          [=] { return bias_at(bias, {.head = 1, .query = 7, .key = 2}); }));
  cases.push_back(
      case_of("rotary::validate(rotary::RelativeBias", each.what, [=] { return validate(bias); }));
}

void add_gradients(std::vector<Case>& cases, const NamedBias& each) {
  static const std::string beginning =
      "add_bias_gradient(std::span<double, 18446744073709551615ul>, ";
  static const std::string by_range =
      of_biases(beginning, ", rotary::ConstScoresView const&, rotary::BiasRange const&)");
  static const std::string by_position =
      of_biases(beginning, ", rotary::ConstScoresView const&, rotary::BiasPositions const&)");
  const RelativeBias bias = each.bias;
  const bool is_valid = validate(bias).ok();
  const auto gradients = std::make_shared<std::vector<double>>(
      static_cast<std::size_t>(is_valid ? parameter_count(bias) : 1));
  const SharedElements d_bias = elements(heads * 4 * 6);
  cases.push_back(
      case_of(by_range, each.what,
              [=] { return add_bias_gradient(*gradients, bias, d_bias->scores(block), range); },
              {bytes_of(*gradients)}));
  cases.push_back(
      case_of(by_position, each.what,
              [=] { return add_bias_gradient(*gradients, bias, d_bias->scores(block), apart); },
              {bytes_of(*gradients)}));
}

constexpr std::int64_t features = 8;
constexpr Extents of_queries{.tokens = 4, .heads = heads, .features = features};

void add_shaw(std::vector<Case>& cases) {
  for (const std::int64_t left : {2, -1}) {
    const std::string what = std::to_string(left);
    const ShawWindow window{.left = left, .right = 3};
    const SharedElements scores = elements(heads * 4 * 6);
    const SharedElements q = elements(heads * 4 * features);
    const SharedElements table = elements(6 * features);
    const auto gradient =
        std::make_shared<std::vector<double>>(static_cast<std::size_t>(6 * features));
    const ShawTable shaw{.window = window, .table = table->matrix(6, features)};
    cases.push_back(case_of("rotary::shaw_row(", what, [window] { return shaw_row(-7, window); }));
    cases.push_back(case_of("rotary::add_shaw_scores(", what,
                            [=, shared = table] {
                              return add_shaw_scores(scores->scores(block), q->heads(of_queries),
                                                     shaw, range);
                            },
                            {scores->bytes()}));
    cases.push_back(case_of("rotary::add_shaw_values(", what,
                            [=, shared = table] {
                              return add_shaw_values(q->heads(of_queries), scores->scores(block),
                                                     shaw, range);
                            },
                            {q->bytes()}));
    cases.push_back(case_of("rotary::add_shaw_gradient(", what,
                            [=] {
                              return add_shaw_gradient({.table = *gradient, .window = window},
                                                       scores->scores(block), q->heads(of_queries),
                                                       range);
                            },
                            {bytes_of(*gradient)}));
  }
}

void add_cope_cases(std::vector<Case>& cases) {
  for (const std::int64_t rows : {5, 0}) {
    const std::string what = std::to_string(rows);
    const SharedElements scores = elements(heads * 4 * 6);
    const SharedElements d_scores = elements(heads * 4 * 6);
    const SharedElements d_out = elements(heads * 4 * 6);
    const SharedElements q = elements(heads * 4 * features);
    const SharedElements d_q = elements(heads * 4 * features);
    const SharedElements table = elements(5 * features);
    const auto d_table =
        std::make_shared<std::vector<double>>(static_cast<std::size_t>(rows * features));
    const Cope cope{.table = table->matrix(rows, features)};
    cases.push_back(case_of("rotary::add_cope(", what,
                            [=, shared = table] {
                              return add_cope(scores->scores(block), q->heads(of_queries), cope,
                                              range);
                            },
                            {scores->bytes()}));
    cases.push_back(case_of(
        "rotary::add_cope_gradient(", what,
        [=, shared = table] {
          return add_cope_gradient(
              {.scores = d_scores->scores(block), .q = d_q->heads(of_queries), .table = *d_table},
              {.scores = scores->scores(block), .q = q->heads(of_queries)}, cope,
              d_out->scores(block), range);
        },
        {d_scores->bytes(), d_q->bytes(), bytes_of(*d_table)}));
  }
}

// clamped takes its argument by value: the caller copies it.
template <class Kerple>
Case clamped_case(std::string_view symbol, const Kerple& kerple) {
  return {.symbol = symbol, .what = {}, .call = [kerple](Attempt& attempt) {
            Kerple own = kerple;
            return attempt.of_what_cannot_fail([&] { return clamped(std::move(own)); });
          }};
}

}  // namespace

std::vector<Case> relative_cases() {
  const std::vector<double> numbers(heads, -0.5);
  const RelativeBias alibi = Alibi{.heads = heads};
  std::vector<Case> cases = {
      clamped_case("rotary::clamped(rotary::KerpleLog)", KerpleLog{.p = numbers, .a = numbers}),
      clamped_case("rotary::clamped(rotary::KerplePower)", KerplePower{.a = numbers, .p = numbers}),
      cannot_fail("rotary::depends_on_distance_alone(",
                  [alibi] { return depends_on_distance_alone(alibi); }),
      cannot_fail("rotary::head_count(", [alibi] { return head_count(alibi); }),
      cannot_fail("rotary::parameter_count(", [alibi] { return parameter_count(alibi); }),
      cannot_fail("rotary::relative_bias_named(", [] { return relative_bias_named("fire"); }),
      cannot_fail("rotary::relative_bias_names(", [] { return relative_bias_names(); }),
      cannot_fail("rotary::to_string(rotary::RelativeBias", [alibi] { return to_string(alibi); }),
  };
  for (const std::int64_t buckets : {32, 1}) {
    cases.push_back(case_of("rotary::t5_bucket(", std::to_string(buckets), [buckets] {
      return t5_bucket(-9,
                       {.buckets = buckets, .max_distance = 128, .direction = T5Direction::causal});
    }));
  }
  for (const NamedBias& each : biases()) {
    if (const auto* const slopes = std::get_if<Alibi>(&each.bias)) {
      cases.push_back(case_of("rotary::alibi_slopes(", each.what,
                              [alibi = *slopes] { return alibi_slopes(alibi); }));
    }
    add_fill(cases, each);
    add_gradients(cases, each);
  }
  for (const std::size_t masked : {std::size_t{4}, std::size_t{3}}) {
    const auto positions = std::make_shared<std::vector<std::int64_t>>(4);
    const std::vector<std::uint8_t> mask(masked, 1);
    cases.push_back(case_of("rotary::alibi_key_positions(", std::to_string(masked),
                            [=] { return alibi_key_positions(*positions, mask); },
                            {bytes_of(*positions)}));
  }
  add_shaw(cases);
  add_cope_cases(cases);
  return cases;
}

}  // namespace rotary::test
