// SPDX-License-Identifier: Apache-2.0
#include "relative/elements.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "rotation/element_values.hpp"

namespace rotary::relative {
namespace {

template <class Element>
void write(void* data, std::int64_t index, Element element) noexcept {
  std::memcpy(static_cast<std::byte*>(data) + index * static_cast<std::int64_t>(sizeof(Element)),
              &element, sizeof element);
}

// To float32 by truncation with the last bit set where anything was cut off (rounding to odd), so
// that the rounding to 16 bits which follows is that of the double. Not for NaN.
float to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value) return nearest;
  const float toward_zero =
      std::abs(back) > std::abs(value) ? std::nextafter(nearest, 0.0F) : nearest;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(toward_zero) | 1U);
}

std::uint16_t bf16_bits(double value) noexcept {
  if (std::isnan(value)) return 0x7FC0;
  const float rounded = rounded_to_bf16(to_odd(value));
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16);
}

std::uint16_t f16_bits(double value) noexcept {
  if (std::isnan(value)) return 0x7E00;
  const float rounded = rounded_to_f16(to_odd(value));
  const float magnitude = std::abs(rounded);
  std::uint32_t bits = 0x7C00;
  if (magnitude < 0x1p-14F) {
    bits = static_cast<std::uint32_t>(magnitude * 0x1p24F);
  } else if (magnitude < std::numeric_limits<float>::infinity()) {
    bits = (std::bit_cast<std::uint32_t>(magnitude) - (112U << 23)) >> 13;
  }
  return static_cast<std::uint16_t>(bits | (std::signbit(value) ? 0x8000U : 0U));
}

std::int64_t features_of(const Strides& s, const ScoreIndex& at) noexcept {
  return at.batch * s.batch + at.query * s.token + at.head * s.head;
}

}  // namespace

double load(const void* data, DType dtype, std::int64_t index) noexcept {
  switch (dtype) {
    case DType::f32:
      return value_at<float>(data, index);
    case DType::bf16:
      return value_at<BFloat16>(data, index);
    case DType::f16:
      return value_at<Float16>(data, index);
    case DType::f64:
      return value_at<double>(data, index);
  }
  return 0;
}

void store(void* data, DType dtype, std::int64_t index, double value) noexcept {
  switch (dtype) {
    case DType::f32:
      return write(data, index, static_cast<float>(value));
    case DType::bf16:
      return write(data, index, bf16_bits(value));
    case DType::f16:
      return write(data, index, f16_bits(value));
    case DType::f64:
      return write(data, index, value);
  }
}

void load_features(std::span<double> features, const ConstHeadsView& view,
                   const ScoreIndex& at) noexcept {
  std::int64_t element = features_of(view.strides, at);
  for (double& feature : features) {
    feature = load(view.data, view.dtype, element);
    element += view.strides.feature;
  }
}

void add_features(const HeadsView& view, const ScoreIndex& at,
                  std::span<const double> features) noexcept {
  std::int64_t element = features_of(view.strides, at);
  for (const double feature : features) {
    store(view.data, view.dtype, element, load(view.data, view.dtype, element) + feature);
    element += view.strides.feature;
  }
}

void load_row(std::span<double> row_values, const ConstMatrixView& table,
              std::int64_t row) noexcept {
  std::int64_t element = row * table.row_stride;
  for (double& value : row_values) {
    value = load(table.data, table.dtype, element);
    element += table.column_stride;
  }
}

}  // namespace rotary::relative
