// SPDX-License-Identifier: Apache-2.0
#include "lab/encodings/bias_encoding.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "rotary/relative_bias.hpp"

namespace rotary::lab {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

std::vector<double> copy(std::span<const double> numbers) {
  return {numbers.begin(), numbers.end()};
}

void append_uniform(std::vector<double>& numbers, std::int64_t count, std::pair<double, double> in,
                    Random& random) {
  for (std::int64_t n = 0; n < count; ++n)
    numbers.push_back(in.first + (in.second - in.first) * random.uniform());
}

std::vector<double> t5_start(const T5Encoding& t5, const ModelConfig& model, Random& random) {
  const double std = t5.initial_std.value_or(1 / std::sqrt(static_cast<double>(model.d_model)));
  std::vector<double> table(static_cast<std::size_t>(t5.buckets * model.heads));
  for (double& number : table) number = std * random.normal();
  return table;
}

// Visits (facts, list) for each parameter list, in parameter_count's order.
template <class Bias, class Visit>
void for_each_list(Bias& bias, Visit visit) {
  for_each_parameter(bias, [&]<class Member>(const ParameterFacts& facts, Member& member) {
    if constexpr (std::is_same_v<std::remove_const_t<Member>, std::vector<double>>)
      visit(facts, member);
  });
}

// A bias with this name and settings, and empty lists.
RelativeBias named_bias(const FormulaEncoding& formula) {
  RelativeBias bias = relative_bias_named(formula.name).value();
  for_each_parameter(bias, [&]<class Member>(const ParameterFacts&, Member& member) {
    if constexpr (std::is_same_v<Member, std::int64_t>) member = formula.units;
  });
  return bias;
}

// A bias whose numbers are split into equal lists, one per parameter.
RelativeBias formula_bias(const FormulaEncoding& formula, std::span<const double> numbers) {
  RelativeBias bias = named_bias(formula);
  std::size_t lists = 0;
  for_each_list(bias, [&](const ParameterFacts&, const std::vector<double>&) { ++lists; });
  const std::size_t size = numbers.size() / lists;
  for_each_list(bias, [&](const ParameterFacts&, std::vector<double>& list) {
    list = copy(numbers.first(size));
    numbers = numbers.subspan(size);
  });
  return bias;
}

double drawn(const ParameterStart& start, Random& random) {
  if (start.kind == StartKind::normal) return start.first + start.second * random.normal();
  return start.first + (start.second - start.first) * random.uniform();
}

std::vector<double> formula_start(const FormulaEncoding& formula, const ModelConfig& model,
                                  Random& random) {
  std::vector<double> numbers;
  RelativeBias bias = named_bias(formula);
  for_each_list(bias, [&](const ParameterFacts& facts, const std::vector<double>&) {
    const bool has_units = facts.shape == ParameterShape::heads_by_units;
    for (std::int64_t n = 0; n < model.heads * (has_units ? formula.units : 1); ++n)
      numbers.push_back(drawn(facts.start, random));
  });
  return numbers;
}

// Numbers in the order c, threshold, hidden_weight, hidden_bias, output_weight, output_bias.
std::vector<double> fire_start(const FireEncoding& fire, const ModelConfig& model, Random& random) {
  std::vector<double> numbers = {fire.c, 1};
  const double reach = 1 / std::sqrt(static_cast<double>(fire.width));
  append_uniform(numbers, 2 * fire.width, {-1, 1}, random);
  append_uniform(numbers, (fire.width + 1) * model.heads, {-reach, reach}, random);
  return numbers;
}

Fire make_fire(const FireEncoding& encoding, const ModelConfig& model,
               std::span<const double> numbers) {
  std::size_t next = 2;
  const auto take = [&](std::int64_t count) {
    const auto part = numbers.subspan(next, static_cast<std::size_t>(count));
    next += part.size();
    return copy(part);
  };
  Fire fire{.c = numbers[0], .threshold = numbers[1]};
  fire.hidden_weight = take(encoding.width);
  fire.hidden_bias = take(encoding.width);
  fire.output_weight = take(encoding.width * model.heads);
  fire.output_bias = take(model.heads);
  return fire;
}

T5Bias make_t5(const T5Encoding& t5, const ModelConfig& model, std::span<const double> table) {
  const bool causal = is_causal(model.task);
  return {.buckets = {.buckets = t5.buckets,
                      .max_distance = t5.max_distance,
                      .direction = causal ? T5Direction::causal : T5Direction::bidirectional},
          .table = {.data = table.data(),
                    .dtype = DType::f64,
                    .rows = t5.buckets,
                    .features = model.heads,
                    .row_stride = model.heads}};
}

}  // namespace

BiasParameters initial_parameters(const BiasEncoding& encoding, const ModelConfig& model,
                                  Random& random) {
  std::vector<double> start = std::visit(
      Overloaded{
          [&](const T5Encoding& t5) { return t5_start(t5, model, random); },
          [&](const FormulaEncoding& formula) { return formula_start(formula, model, random); },
          [&](const FireEncoding& fire) { return fire_start(fire, model, random); },
          [](const AlibiEncoding&) { return std::vector<double>(); },
          [](const SandwichEncoding&) { return std::vector<double>(); },
      },
      encoding);
  std::vector<double> scale(start.size(), 1.0);
  if (const auto* fire = std::get_if<FireEncoding>(&encoding)) scale[1] = fire->threshold;
  constrain(encoding, start);
  return {.start = std::move(start), .scale = std::move(scale)};
}

void constrain(const BiasEncoding& encoding, std::span<double> numbers) {
  const auto* formula = std::get_if<FormulaEncoding>(&encoding);
  if (formula == nullptr) return;
  RelativeBias kept = formula_bias(*formula, numbers);
  std::visit(
      [](auto& bias) {
        if constexpr (requires { clamped(bias); }) bias = clamped(bias);
      },
      kept);
  auto next = numbers.begin();
  for_each_list(kept, [&](const ParameterFacts&, const std::vector<double>& list) {
    next = std::ranges::copy(list, next).out;
  });
}

RelativeBias make_bias(const BiasEncoding& encoding, const ModelConfig& model,
                       std::span<const double> numbers) {
  const bool causal = is_causal(model.task);
  return std::visit(
      Overloaded{
          [&](const T5Encoding& t5) -> RelativeBias { return make_t5(t5, model, numbers); },
          [&](const AlibiEncoding& alibi) -> RelativeBias {
            return Alibi{.heads = model.heads,
                         .bias_max = alibi.bias_max,
                         .form = causal ? AlibiForm::causal : AlibiForm::symmetric};
          },
          [&](const FormulaEncoding& formula) { return formula_bias(formula, numbers); },
          [&](const FireEncoding& fire) -> RelativeBias { return make_fire(fire, model, numbers); },
          [&](const SandwichEncoding& sandwich) -> RelativeBias {
            return Sandwich{.dim = model.head_dim(), .base = sandwich.base, .heads = model.heads};
          },
      },
      encoding);
}

bool shared_by_layers(const BiasEncoding& encoding) noexcept {
  return std::holds_alternative<T5Encoding>(encoding) ||
         std::holds_alternative<AlibiEncoding>(encoding) ||
         std::holds_alternative<SandwichEncoding>(encoding);
}

}  // namespace rotary::lab
