// SPDX-License-Identifier: Apache-2.0
#include "tensor/element_runs.hpp"

#include <cstddef>

#include "tensor/element_values.hpp"

namespace rotary {
namespace {

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
