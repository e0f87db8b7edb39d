// SPDX-License-Identifier: Apache-2.0
#include "tensor/element_runs.hpp"

#include <bit>
#include <cstddef>

#include "tensor/element_values.hpp"

namespace rotary {
namespace {

// A float32 that rounds to the same bf16 or f16 as `value`. Keeps 14 bits of the significand and
// sets the last one if a lower bit was lost ("round to odd"). bf16 and f16 have at most 11 bits, so
// the result is halfway between two of their numbers only if `value` is. Results below 2^-136,
// which float32 may round, are 0 in bf16 and f16. Branch-free integer arithmetic, here and below,
// lets the compiler vectorise the loops.
float rounded_to_odd(double value) noexcept {
  constexpr std::uint64_t lost = (std::uint64_t{1} << (53 - 14)) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sticky = ((bits & lost) + lost) & (lost + 1);
  return static_cast<float>(std::bit_cast<double>((bits | sticky) & ~lost));
}

void put(double value, double& element) noexcept { element = value; }
void put(double value, float& element) noexcept { element = static_cast<float>(value); }

void put(double value, BFloat16& element) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(rounded_to_odd(value));
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7FFFFFFF);
  const std::uint32_t odd = (bits >> 16) & 1;
  const std::uint32_t rounded = (bits + 0x7FFF + odd) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40;
  element.bits = static_cast<std::uint16_t>(magnitude > 0x7F800000 ? quiet : rounded);
}

// f16 has 5 exponent bits (bias 15) and 10 fraction bits. Results below 2^-14 are multiples of
// 2^-24; adding 1/2 rounds to such a multiple. From 65520 on the exponent reaches 31, which means
// Inf.
void put(double value, Float16& element) noexcept {
  constexpr std::int32_t smallest_normal = 0x38800000;  // 2^-14
  constexpr std::int32_t beyond = 0x47800000;           // 2^16
  constexpr std::int32_t half = 0x3F000000;
  const auto bits = std::bit_cast<std::uint32_t>(rounded_to_odd(value));
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7FFFFFFF);
  const std::int32_t finite = select_by(magnitude, beyond, magnitude, beyond);
  const std::int32_t odd = (finite >> 13) & 1;
  const std::int32_t normal = (finite + 0xFFF + odd - ((127 - 15) << 23)) >> 13;
  const std::int32_t units =
      std::bit_cast<std::int32_t>(std::bit_cast<float>(finite) + 0.5F) - half;
  const std::int32_t number = select_by(finite, smallest_normal, units, normal);
  const std::int32_t rounded = select_by(magnitude, 0x7F800001, number, 0x7E00);
  element.bits =
      static_cast<std::uint16_t>(((bits >> 16) & 0x8000) | static_cast<std::uint32_t>(rounded));
}

// A stride of 1, known at compile time, lets the compiler vectorise the loop.
template <class Element>
void load(const ConstElementRun& from, double* to) noexcept {
  const auto* const elements = reinterpret_cast<const Element*>(from.data);
  if (from.stride == 1) {
    for (std::int64_t i = 0; i < from.count; ++i) to[i] = value_of(elements[i]);
    return;
  }
  for (std::int64_t i = 0; i < from.count; ++i) to[i] = value_of(elements[i * from.stride]);
}

template <class Element>
void store(const double* from, const ElementRun& to) noexcept {
  auto* const elements = reinterpret_cast<Element*>(to.data);
  std::array<Element, run_features> apart;
  Element* const rounded = to.stride == 1 ? elements : apart.data();
  for (std::int64_t i = 0; i < to.count; ++i) put(from[i], rounded[i]);
  if (to.stride == 1) return;
  for (std::int64_t i = 0; i < to.count; ++i) elements[i * to.stride] = rounded[i];
}

template <class Element>
void add(const ConstElementRun& a, const ConstElementRun& b, const ElementRun& to) noexcept {
  const auto* const first = reinterpret_cast<const Element*>(a.data);
  const auto* const second = reinterpret_cast<const Element*>(b.data);
  auto* const sum = reinterpret_cast<Element*>(to.data);
  for (std::int64_t i = 0; i < to.count; ++i) sum[i] = first[i] + second[i];
}

template <class Run, class View>
Run run_at(const View& view, std::int64_t batch, std::int64_t token, std::int64_t feature,
           std::int64_t count) noexcept {
  const TokenStrides& s = view.strides;
  const std::int64_t elements = batch * s.batch + token * s.token + feature * s.feature;
  return {
      .data = static_cast<decltype(Run::data)>(view.data) + elements * size_in_bytes(view.dtype),
      .dtype = view.dtype,
      .stride = s.feature,
      .count = count};
}

}  // namespace

ElementRun run_of(const TokensView& view, std::int64_t batch, std::int64_t token,
                  std::int64_t feature, std::int64_t count) noexcept {
  return run_at<ElementRun>(view, batch, token, feature, count);
}

ConstElementRun run_of(const ConstTokensView& view, std::int64_t batch, std::int64_t token,
                       std::int64_t feature, std::int64_t count) noexcept {
  return run_at<ConstElementRun>(view, batch, token, feature, count);
}

void load_run(const ConstElementRun& from, double* to) noexcept {
  with_element(from.dtype, [&](auto like) { load<decltype(like)>(from, to); });
}

void store_run(const double* from, const ElementRun& to) noexcept {
  with_element(to.dtype, [&](auto like) { store<decltype(like)>(from, to); });
}

void add_runs(const ConstElementRun& a, const ConstElementRun& b, const ElementRun& to) noexcept {
  const bool is_contiguous = a.stride == 1 && b.stride == 1 && to.stride == 1;
  if (is_contiguous && to.dtype == DType::f32) return add<float>(a, b, to);
  if (is_contiguous && to.dtype == DType::f64) return add<double>(a, b, to);
  RunValues sum;
  load_run(a, sum.data());
  add_to_values(b, sum);
  store_run(sum.data(), to);
}

void add_to_values(const ConstElementRun& from, RunValues& values) noexcept {
  RunValues more;
  load_run(from, more.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(from.count); ++i) values[i] += more[i];
}

void add_to_run(const double* values, const ElementRun& to) noexcept {
  RunValues sum;
  load_run({.data = to.data, .dtype = to.dtype, .stride = to.stride, .count = to.count},
           sum.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(to.count); ++i) sum[i] += values[i];
  store_run(sum.data(), to);
}

}  // namespace rotary
