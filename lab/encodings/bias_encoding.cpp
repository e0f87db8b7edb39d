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

void append_uniform(std::vector<double>& numbers, std::int64_t count, std::pair<double, double> in,
                    Random& random) {
  for (std::int64_t n = 0; n < count; ++n)
    numbers.push_back(in.first + (in.second - in.first) * random.uniform());
}

std::vector<double> t5_start(const BiasEncoding& encoding, const T5Bias& t5,
                             const ModelConfig& model, Random& random) {
  const double std =
      encoding.initial_std.value_or(1 / std::sqrt(static_cast<double>(model.d_model)));
  std::vector<double> table(static_cast<std::size_t>(t5.buckets.buckets * model.heads));
  for (double& number : table) number = std * random.normal();
  return table;
}

// Visits (facts, size, member) for each learned parameter, in parameter_count's order.
template <class Bias, class Visit>
void for_each_learned(Bias& bias, std::int64_t heads, Visit visit) {
  using Description = Describe<std::remove_const_t<Bias>>;
  const std::int64_t units = Description::units(bias);
  Description::parameters(bias, [&]<class Member>(const ParameterFacts& facts, Member& member) {
    if (facts.kind != ParameterKind::learned) return;
    const bool has_units = facts.shape == ParameterShape::units;
    const bool has_both = facts.shape == ParameterShape::heads_by_units;
    const bool has_heads = facts.shape == ParameterShape::heads || has_both;
    if constexpr (!std::is_integral_v<Member>)
      visit(facts, (has_heads ? heads : 1) * (has_units || has_both ? units : 1), member);
  });
}

// Numbers as the facts of the parameters say (rotary/describe.hpp): KERPLE, TISA.
template <class Bias>
std::vector<double> formula_start(const Bias& bias, const ModelConfig& model, Random& random) {
  std::vector<double> numbers;
  for_each_learned(bias, model.heads,
                   [&](const ParameterFacts& facts, std::int64_t size, const auto&) {
                     const auto [kind, first, second] = facts.start;
                     if (kind != StartKind::normal)
                       return append_uniform(numbers, size, {first, second}, random);
                     for (std::int64_t n = 0; n < size; ++n)
                       numbers.push_back(first + second * random.normal());
                   });
  return numbers;
}

// The network starts like torch's Linear: uniform in ±1/sqrt(inputs).
std::vector<double> fire_start(const Fire& fire, const ModelConfig& model, Random& random) {
  std::vector<double> numbers = {fire.c, 1};
  const std::int64_t width = std::ssize(fire.hidden_weight);
  const double reach = 1 / std::sqrt(static_cast<double>(width));
  append_uniform(numbers, 2 * width, {-1, 1}, random);
  append_uniform(numbers, (width + 1) * model.heads, {-reach, reach}, random);
  return numbers;
}

template <class Bias>
void set_learned(Bias& bias, const ModelConfig& model, std::span<const double> numbers) {
  for_each_learned(bias, model.heads,
                   [&]<class Member>(const ParameterFacts&, std::int64_t size, Member& member) {
                     const auto own = numbers.first(static_cast<std::size_t>(size));
                     numbers = numbers.subspan(own.size());
                     if constexpr (std::is_same_v<Member, double>)
                       member = own.front();
                     else
                       member.assign(own.begin(), own.end());
                   });
}

}  // namespace

BiasParameters initial_parameters(const BiasEncoding& encoding, const ModelConfig& model,
                                  Random& random) {
  std::vector<double> start =
      std::visit(Overloaded{
                     [&](const T5Bias& t5) { return t5_start(encoding, t5, model, random); },
                     [&](const Fire& fire) { return fire_start(fire, model, random); },
                     [](const Alibi&) { return std::vector<double>(); },
                     [](const Sandwich&) { return std::vector<double>(); },
                     [&](const auto& formula) { return formula_start(formula, model, random); },
                 },
                 encoding.bias);
  std::vector<double> scale(start.size(), 1.0);
  if (const auto* fire = std::get_if<Fire>(&encoding.bias)) scale[1] = fire->threshold;
  constrain(encoding, model, start);
  return {.start = std::move(start), .scale = std::move(scale)};
}

void constrain(const BiasEncoding& encoding, const ModelConfig& model, std::span<double> numbers) {
  RelativeBias kept = make_bias(encoding, model, numbers);
  auto next = numbers.begin();
  std::visit(
      [&](auto& bias) {
        if constexpr (requires { clamped(bias); }) {
          bias = clamped(bias);
          for_each_learned(bias, model.heads,
                           [&](const ParameterFacts&, std::int64_t, const auto& list) {
                             next = std::ranges::copy(list, next).out;
                           });
        }
      },
      kept);
}

RelativeBias make_bias(const BiasEncoding& encoding, const ModelConfig& model,
                       std::span<const double> numbers) {
  const bool causal = is_causal(model.task);
  RelativeBias made = encoding.bias;
  std::visit(Overloaded{
                 [&](T5Bias& t5) {
                   t5.buckets.direction = causal ? T5Direction::causal : T5Direction::bidirectional;
                   t5.table = {.data = numbers.data(),
                               .dtype = DType::f64,
                               .rows = t5.buckets.buckets,
                               .features = model.heads,
                               .row_stride = model.heads};
                 },
                 [&](Alibi& alibi) {
                   alibi.heads = model.heads;
                   alibi.form = causal ? AlibiForm::causal : AlibiForm::symmetric;
                 },
                 [&](Sandwich& sandwich) {
                   sandwich.dim = model.head_dim();
                   sandwich.heads = model.heads;
                 },
                 [&](auto& learned) { set_learned(learned, model, numbers); },
             },
             made);
  return made;
}

bool shared_by_layers(const BiasEncoding& encoding) noexcept {
  return std::holds_alternative<T5Bias>(encoding.bias) ||
         std::holds_alternative<Alibi>(encoding.bias) ||
         std::holds_alternative<Sandwich>(encoding.bias);
}

}  // namespace rotary::lab
