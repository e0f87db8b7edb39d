// SPDX-License-Identifier: Apache-2.0
#include "absolute/element_runs.hpp"

#include <bit>
#include <cmath>

#include "rotation/element_values.hpp"

namespace rotary {
namespace {

// The bits of the float32 that rounds on to any narrower type as value itself does: where value
// lies between two, the one with an odd significand, which is no tie of fewer bits. A NaN stays
// one. Without branches, so that loops over it are vectorised.
std::uint32_t rounded_to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const double back = nearest;
  const std::uint32_t is_larger = std::fabs(back) > std::fabs(value) ? 1 : 0;
  const std::uint32_t is_inexact = back != value ? 1 : 0;
  return (std::bit_cast<std::uint32_t>(nearest) - is_larger) | is_inexact;
}

void put(double value, double& element) noexcept { element = value; }
void put(double value, float& element) noexcept { element = static_cast<float>(value); }

void put(double value, BFloat16& element) noexcept {
  const std::uint32_t bits = rounded_to_odd(value);
  const std::uint32_t odd = (bits >> 16) & 1;
  const std::uint32_t rounded = (bits + 0x7FFF + odd) >> 16;
  const std::uint32_t quiet = (bits >> 16) | 0x40;
  element.bits = static_cast<std::uint16_t>(std::isnan(value) ? quiet : rounded);
}

void put(double value, Float16& element) noexcept {
  const auto odd = std::bit_cast<float>(rounded_to_odd(value));
  const auto sign = static_cast<std::uint32_t>(std::signbit(odd) ? 0x8000 : 0);
  std::uint32_t magnitude = 0x7E00;  // a NaN
  if (!std::isnan(odd)) {
    const float rounded = std::fabs(rounded_to_f16(odd));
    if (std::isinf(rounded)) {
      magnitude = 0x7C00;
    } else if (rounded < 0x1p-14F) {
      magnitude = static_cast<std::uint32_t>(rounded * 0x1p24F);
    } else {
      magnitude = (std::bit_cast<std::uint32_t>(rounded) >> 13) - ((127U - 15U) << 10);
    }
  }
  element.bits = static_cast<std::uint16_t>(sign | magnitude);
}

// A stride of 1 that the compiler sees is a loop that it vectorises.
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
  if (to.stride == 1) {
    for (std::int64_t i = 0; i < to.count; ++i) put(from[i], elements[i]);
    return;
  }
  for (std::int64_t i = 0; i < to.count; ++i) put(from[i], elements[i * to.stride]);
}

std::int64_t offset_of(const TokenStrides& s, DType dtype, std::int64_t batch, std::int64_t token,
                       std::int64_t feature) noexcept {
  return (batch * s.batch + token * s.token + feature * s.feature) * size_in_bytes(dtype);
}

}  // namespace

ElementRun run_of(const TokensView& view, std::int64_t batch, std::int64_t token,
                  std::int64_t feature, std::int64_t count) noexcept {
  return {.data = static_cast<std::byte*>(view.data) +
                  offset_of(view.strides, view.dtype, batch, token, feature),
          .dtype = view.dtype,
          .stride = view.strides.feature,
          .count = count};
}

ConstElementRun run_of(const ConstTokensView& view, std::int64_t batch, std::int64_t token,
                       std::int64_t feature, std::int64_t count) noexcept {
  return {.data = static_cast<const std::byte*>(view.data) +
                  offset_of(view.strides, view.dtype, batch, token, feature),
          .dtype = view.dtype,
          .stride = view.strides.feature,
          .count = count};
}

void load_run(const ConstElementRun& from, double* to) noexcept {
  switch (from.dtype) {
    case DType::f32:
      return load<float>(from, to);
    case DType::bf16:
      return load<BFloat16>(from, to);
    case DType::f16:
      return load<Float16>(from, to);
    case DType::f64:
      return load<double>(from, to);
  }
}

void store_run(const double* from, const ElementRun& to) noexcept {
  switch (to.dtype) {
    case DType::f32:
      return store<float>(from, to);
    case DType::bf16:
      return store<BFloat16>(from, to);
    case DType::f16:
      return store<Float16>(from, to);
    case DType::f64:
      return store<double>(from, to);
  }
}

}  // namespace rotary
