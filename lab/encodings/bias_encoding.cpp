// SPDX-License-Identifier: Apache-2.0
#include "lab/encodings/bias_encoding.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "rotary/kerple.hpp"

namespace rotary::lab {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

// Box and Muller.
double normal(const Uniform& uniform) {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::vector<double> copy(std::span<const double> numbers) {
  return {numbers.begin(), numbers.end()};
}

void append_uniform(std::vector<double>& numbers, std::int64_t count, std::pair<double, double> in,
                    const Uniform& uniform) {
  for (std::int64_t n = 0; n < count; ++n)
    numbers.push_back(in.first + (in.second - in.first) * uniform());
}

std::vector<double> t5_start(const T5Encoding& t5, const ModelConfig& model,
                             const Uniform& uniform) {
  const double std = t5.initial_std.value_or(1 / std::sqrt(static_cast<double>(model.d_model)));
  std::vector<double> table(static_cast<std::size_t>(t5.buckets * model.heads));
  for (double& number : table) number = std * normal(uniform);
  return table;
}

// c, threshold, hidden_weight, hidden_bias, output_weight, output_bias.
std::vector<double> fire_start(const FireEncoding& fire, const ModelConfig& model,
                               const Uniform& uniform) {
  std::vector<double> numbers = {fire.c, 1};
  const double reach = 1 / std::sqrt(static_cast<double>(fire.width));
  append_uniform(numbers, 2 * fire.width, {-1, 1}, uniform);
  append_uniform(numbers, (fire.width + 1) * model.heads, {-reach, reach}, uniform);
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
                    .columns = model.heads,
                    .row_stride = model.heads}};
}

}  // namespace

BiasParameters initial_parameters(const BiasEncoding& encoding, const ModelConfig& model,
                                  const Uniform& uniform) {
  std::vector<double> start =
      std::visit(Overloaded{
                     [&](const T5Encoding& t5) { return t5_start(t5, model, uniform); },
                     [&](const KerpleLogEncoding&) {
                       std::vector<double> numbers;
                       append_uniform(numbers, model.heads, {0, 2}, uniform);
                       append_uniform(numbers, model.heads, {0, 1}, uniform);
                       return numbers;
                     },
                     [&](const KerplePowerEncoding&) {
                       std::vector<double> numbers;
                       append_uniform(numbers, model.heads, {0, 1}, uniform);
                       append_uniform(numbers, model.heads, {0, 2}, uniform);
                       return numbers;
                     },
                     [&](const FireEncoding& fire) { return fire_start(fire, model, uniform); },
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
  const auto half = static_cast<std::ptrdiff_t>(numbers.size() / 2);
  const auto middle = numbers.begin() + half;
  if (std::holds_alternative<KerpleLogEncoding>(encoding)) {
    const KerpleLog kept =
        clamped(KerpleLog{.p = {numbers.begin(), middle}, .a = {middle, numbers.end()}});
    std::ranges::copy(kept.a, std::ranges::copy(kept.p, numbers.begin()).out);
  }
  if (std::holds_alternative<KerplePowerEncoding>(encoding)) {
    const KerplePower kept =
        clamped(KerplePower{.a = {numbers.begin(), middle}, .p = {middle, numbers.end()}});
    std::ranges::copy(kept.p, std::ranges::copy(kept.a, numbers.begin()).out);
  }
}

RelativeBias make_bias(const BiasEncoding& encoding, const ModelConfig& model,
                       std::span<const double> numbers) {
  const auto half = numbers.size() / 2;
  const bool causal = is_causal(model.task);
  return std::visit(
      Overloaded{
          [&](const T5Encoding& t5) -> RelativeBias { return make_t5(t5, model, numbers); },
          [&](const AlibiEncoding& alibi) -> RelativeBias {
            return Alibi{.heads = model.heads,
                         .bias_max = alibi.bias_max,
                         .form = causal ? AlibiForm::causal : AlibiForm::symmetric};
          },
          [&](const KerpleLogEncoding&) -> RelativeBias {
            return KerpleLog{.p = copy(numbers.first(half)), .a = copy(numbers.subspan(half))};
          },
          [&](const KerplePowerEncoding&) -> RelativeBias {
            return KerplePower{.a = copy(numbers.first(half)), .p = copy(numbers.subspan(half))};
          },
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
