// SPDX-License-Identifier: Apache-2.0
#include "relative/elements.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/element_values.hpp"

namespace rotary::relative {
namespace {

// Rounds to odd: truncates a double to float32, and sets the last bit if any bit was lost. Rounding
// the result to 16 bits equals rounding the double directly. Requires a value that is not NaN.
float to_odd(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const auto back = static_cast<double>(nearest);
  if (back == value) return nearest;
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const std::uint32_t away = std::abs(back) > std::abs(value) ? 1 : 0;  // 1 only if bits > 0
  return std::bit_cast<float>((bits - away) | 1U);
}

// Rounds `value` to the type of `like`.
float rounded(double value, float /*like*/) noexcept { return static_cast<float>(value); }

double rounded(double value, double /*like*/) noexcept { return value; }

BFloat16 rounded(double value, BFloat16 /*like*/) noexcept {
  if (std::isnan(value)) return {0x7FC0};
  const float nearest = rounded_to_bf16(to_odd(value));
  return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(nearest) >> 16)};
}

Float16 rounded(double value, Float16 /*like*/) noexcept {
  if (std::isnan(value)) return {0x7E00};
  const float magnitude = std::abs(rounded_to_f16(to_odd(value)));
  std::uint32_t bits = 0x7C00;
  if (magnitude < 0x1p-14F) {
    bits = static_cast<std::uint32_t>(magnitude * 0x1p24F);
  } else if (magnitude < std::numeric_limits<float>::infinity()) {
    bits = (std::bit_cast<std::uint32_t>(magnitude) - (112U << 23)) >> 13;
  }
  return {static_cast<std::uint16_t>(bits | (std::signbit(value) ? 0x8000U : 0U))};
}

template <class Element>
void put(void* data, std::int64_t index, double value) noexcept {
  const Element element = rounded(value, Element{});
  std::memcpy(static_cast<std::byte*>(data) + index * static_cast<std::int64_t>(sizeof(Element)),
              &element, sizeof element);
}

// The elements first, first + stride, first + 2 * stride, ...
struct Run {
  std::int64_t first = 0;
  std::int64_t stride = 0;
};

// Calls step(i, index) for each of the run's `count` elements. Stride 1 has its own loop, which the
// compiler vectorises.
template <class Step>
void for_each_index(std::size_t count, const Run& run, const Step& step) noexcept {
  if (run.stride == 1) {
    for (std::size_t i = 0; i < count; ++i) step(i, run.first + static_cast<std::int64_t>(i));
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    step(i, run.first + static_cast<std::int64_t>(i) * run.stride);
}

Run run_of(const ScoresStrides& strides, const ScoreIndex& at) noexcept {
  return {.first = element_of(strides, at), .stride = strides.key};
}

std::int64_t features_of(const Strides& s, const ScoreIndex& at) noexcept {
  return at.batch * s.batch + at.query * s.token + at.head * s.head;
}

}  // namespace

double load(const void* data, DType dtype, std::int64_t index) noexcept {
  double value = 0;
  with_element(dtype, [&](auto like) { value = value_at<decltype(like)>(data, index); });
  return value;
}

void store(void* data, DType dtype, std::int64_t index, double value) noexcept {
  with_element(dtype, [&](auto like) { put<decltype(like)>(data, index, value); });
}

void load_scores(std::span<double> row, const ConstScoresView& view,
                 const ScoreIndex& at) noexcept {
  with_element(view.dtype, [&](auto like) {
    for_each_index(row.size(), run_of(view.strides, at), [&](std::size_t i, std::int64_t index) {
      row[i] = value_at<decltype(like)>(view.data, index);
    });
  });
}

void store_scores(const ScoresView& view, const ScoreIndex& at,
                  std::span<const double> row) noexcept {
  with_element(view.dtype, [&](auto like) {
    for_each_index(row.size(), run_of(view.strides, at), [&](std::size_t i, std::int64_t index) {
      put<decltype(like)>(view.data, index, row[i]);
    });
  });
}

void add_scores(const ScoresView& view, const ScoreIndex& at,
                std::span<const double> row) noexcept {
  with_element(view.dtype, [&](auto like) {
    using Element = decltype(like);
    for_each_index(row.size(), run_of(view.strides, at), [&](std::size_t i, std::int64_t index) {
      put<Element>(view.data, index, value_at<Element>(view.data, index) + row[i]);
    });
  });
}

void round_elements(std::span<std::byte> elements, DType dtype,
                    std::span<const double> values) noexcept {
  with_element(dtype, [&](auto like) {
    for_each_index(values.size(), {.first = 0, .stride = 1},
                   [&](std::size_t i, std::int64_t index) {
                     put<decltype(like)>(elements.data(), index, values[i]);
                   });
  });
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

void load_row(std::span<double> row_values, const ConstTableView& table,
              std::int64_t row) noexcept {
  std::int64_t element = row * table.row_stride;
  for (double& value : row_values) {
    value = load(table.data, table.dtype, element);
    element += table.feature_stride;
  }
}

}  // namespace rotary::relative
