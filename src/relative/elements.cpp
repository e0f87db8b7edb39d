// SPDX-License-Identifier: Apache-2.0
#include "relative/elements.hpp"

#include <cstring>

#include "tensor/element_values.hpp"

namespace rotary::relative {
namespace {

template <class Element>
void put(void* data, std::int64_t index, double value) noexcept {
  Element element;
  rotary::put(value, element);
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
