// SPDX-License-Identifier: Apache-2.0
// Calls of relative biases, Shaw's vectors and CoPE.

#include "public_calls/call.hpp"
#include "rotary/cope.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"
#include "support/bias_parameters.hpp"

namespace rotary::test {
namespace {

struct NamedBias {
  std::string what;
  RelativeBias bias;
};

// Biases of three heads, among them every encoding for which random_bias() has parameters. Some
// biases are invalid. T5 gets its table in each call.
std::vector<NamedBias> biases() {
  const std::vector<double> each_head(3, 0.5);
  const std::vector<double> units(8, 0.5);
  const T5Buckets buckets{.buckets = 8, .max_distance = 20, .direction = T5Direction::causal};
  std::vector<NamedBias> all = {
      {"t5", T5Bias{.buckets = buckets, .table = {}}},
      {"alibi", Alibi{.heads = 3}},
      {"alibi by key position", Alibi{.heads = 3, .form = AlibiForm::key_position}},
      {"learned slopes", Alibi{.heads = 3, .slopes = each_head}},
      {"subnormal slopes", Alibi{.heads = 3, .slopes = {1e-39, 3e-41, 1e-310}}},
      {"fire", Fire{.hidden_weight = units,
                    .hidden_bias = units,
                    .output_weight = std::vector<double>(24, 0.25),
                    .output_bias = each_head}},
      {"sandwich", Sandwich{.dim = 8, .heads = 3}},
      {"no heads", Alibi{}},
      {"units that do not match", Fire{.hidden_weight = units, .output_bias = each_head}}};
  for (const std::string_view name : relative_bias_names()) {
    if (auto bias = random_bias(name, 3, 1)) all.push_back({std::string(name), *std::move(bias)});
  }
  return all;
}

constexpr BiasRange range{.first_query = 2, .first_key = 0};

constexpr auto block = scores_at<0, 1, 2, 3>;

BiasPositions apart(Sizes n) {
  return {.queries = numbers<const std::int64_t>(n[2]), .keys = numbers<const std::int64_t>(n[3])};
}

// Sizes: batch, heads, queries, keys.
void add_bias_calls(Calls& calls, const NamedBias& of) {
  // Calls function(bias, sizes). The second size is the number of heads.
  const auto add = [&](std::string_view symbol, const SizeList& sizes, auto function) {
    calls.emplace_back(symbol, of.what, sizes, [function, bias = of.bias](Sizes n) mutable {
      if (auto* const t5 = std::get_if<T5Bias>(&bias)) t5->table = table(8, n[1]);
      return function(static_cast<const RelativeBias&>(bias), n);
    });
  };
  // The gradient has a number for each parameter. A T5Bias is valid once it has its table.
  const std::int64_t count = validate(of.bias) ? parameter_count(of.bias) : 1;
  const auto gradients = [count](const RelativeBias& bias, Sizes n) {
    const bool is_t5 = std::holds_alternative<T5Bias>(static_cast<const RelativeBiases&>(bias));
    const bool is_valid_t5 = is_t5 && n[1] > 0 && n[1] <= std::int64_t{1} << 50;
    return numbers<double>(is_valid_t5 ? parameter_count(bias) : count);
  };
  const SizeList sizes = {{}, {3}, {4}, {6}};
  add("rotary::fill_bias(*rotary::BiasRange", sizes,
      [](auto& bias, Sizes n) { return fill_bias(block(n), bias, range); });
  add("rotary::add_bias_gradient(*rotary::BiasRange", sizes, [=](auto& bias, Sizes n) {
    return add_bias_gradient(gradients(bias, n), bias, block(n), range);
  });
  const SizeList listed_sizes = {{}, {3}, each(4), each(6)};
  add("rotary::fill_bias(*rotary::BiasPositions", listed_sizes,
      [](auto& bias, Sizes n) { return fill_bias(block(n), bias, apart(n)); });
  add("rotary::add_bias_gradient(*rotary::BiasPositions", listed_sizes, [=](auto& bias, Sizes n) {
    return add_bias_gradient(gradients(bias, n), bias, block(n), apart(n));
  });
  add("rotary::fill_distances(", {{}, {3}, {1}, {6}},
      [](auto& bias, Sizes n) { return fill_distances(block(n), bias, -3); });
  const SizeList place = {fixed(1), {3}, {7}, {2}};
  add("rotary::bias_at(", place,
      [](auto& bias, Sizes n) { return bias_at(bias, {.head = 1, .query = n[2], .key = n[3]}); });
  add("rotary::validate(rotary::RelativeBias", place,
      [](auto& bias, Sizes) { return validate(bias); });
}

// Calls the functions that need a valid bias.
Status use(const RelativeBias& bias) {
  if (auto status = validate(bias); !status) return status;
  static_cast<void>(head_count(bias));
  static_cast<void>(parameter_count(bias));
  auto at = bias_at(bias, {.query = 5});
  return at ? Status() : Status(std::move(at).error());
}

ShawTable shaw_of(Sizes n) {
  const ShawWindow window{.left = n[5], .right = 3};
  return {.window = window, .table = table(window.rows(), n[4])};
}

// A gradient needs real memory, so for large sizes it is too short.
std::span<double> table_gradient(std::int64_t rows, std::int64_t features) {
  return numbers<double>(rows <= 12 && features <= 8 ? rows * features : 1);
}

Calls vector_calls() {
  Calls calls = {{"rotary::shaw_row(", "", {{2}, {3}}, [](Sizes n) {
                    return shaw_row(-7, {.left = n[0], .right = n[1]});
                  }}};
  // Sizes: batch, heads, queries, keys, features, and `left` of Shaw's window or rows of CoPE's
  // table.
  const Adding add{calls, {}, {{}, {3}, {4}, {6}, each(8), {2}}};
  const auto vectors = heads_at<0, 2, 1, 4>;
  add("rotary::add_shaw_scores(", add_shaw_scores, block, vectors, shaw_of, range);
  add("rotary::add_shaw_values(", add_shaw_values, vectors, block, shaw_of, range);
  add("rotary::add_shaw_gradient(", [=](Sizes n) {
    const ShawWindow window = shaw_of(n).window;
    return add_shaw_gradient({table_gradient(window.rows(), n[4]), window}, block(n), vectors(n),
                             range);
  });
  add("rotary::add_cope(",
      [=](Sizes n) { return add_cope(block(n), vectors(n), {table(n[5], n[4])}, range); });
  add("rotary::add_cope_gradient(", [=](Sizes n) {
    return add_cope_gradient({block(n), vectors(n), table_gradient(n[5], n[4])},
                             {block(n), vectors(n)}, {table(n[5], n[4])}, block(n), range);
  });
  return calls;
}

// clamped() takes its argument by value. The copy is made outside the attempt.
template <class Kerple>
auto clamped_copy(const Kerple& kerple) {
  return [kerple](Attempt& attempt, Sizes) {
    Kerple own = kerple;
    return attempt([&] { return clamped(std::move(own)); });
  };
}

Alibi alibi_of(Sizes n) { return {.heads = n[0], .first_head = n[1], .model_heads = n[2]}; }

T5Buckets buckets_of(Sizes n) {
  return {.buckets = n[0], .max_distance = n[1], .direction = T5Direction::causal};
}

Calls value_calls() {
  const std::vector<double> below_0(3, -0.5);
  const RelativeBias alibi = Alibi{.heads = 3};
  return {
      {"rotary::clamped(rotary::KerpleLog)", clamped_copy(KerpleLog{.p = below_0, .a = below_0})},
      {"rotary::clamped(rotary::KerplePower)",
       clamped_copy(KerplePower{.a = below_0, .p = below_0})},
      {"rotary::depends_on_distance_alone(", [=] { return depends_on_distance_alone(alibi); }},
      {"rotary::head_count(",
       "",
       {{8}, {2}},
       [](Sizes n) { return use(Sandwich{.dim = n[0], .heads = n[1]}); }},
      {"rotary::parameter_count(", "", {{2}, {1}, {4}}, [](Sizes n) { return use(alibi_of(n)); }},
      {"rotary::validate(rotary::RelativeBias",
       "buckets",
       {{8}, {20}, {2}},
       [](Sizes n) { return use(T5Bias{.buckets = buckets_of(n), .table = table(n[0], n[2])}); }},
      {"rotary::alibi_slopes(", "", {{2}, {1}, {4}}, with(alibi_slopes, alibi_of)},
      {"rotary::relative_bias_named(", [] { return relative_bias_named("fire"); }},
      {"rotary::relative_bias_names(", relative_bias_names},
      {"rotary::to_string(rotary::RelativeBias", [=] { return to_string(alibi); }},
      {"rotary::t5_bucket(", "", {{32}, {128}}, with(t5_bucket, -9, buckets_of)},
      {"rotary::alibi_key_positions(",
       "",
       {each(4), each(4)},
       [](Sizes n) {
         return alibi_key_positions(numbers<std::int64_t>(n[0]), numbers<const std::uint8_t>(n[1]));
       }},
  };
}

}  // namespace

Calls relative_calls() {
  Calls calls = value_calls();
  for (const NamedBias& each_bias : biases()) add_bias_calls(calls, each_bias);
  add(calls, vector_calls());
  return calls;
}

}  // namespace rotary::test
