// SPDX-License-Identifier: Apache-2.0
#include "support/cases.hpp"

#include <cmath>
#include <utility>

#include "support/result.hpp"

namespace rotary::test {

Frequencies frequencies_of(const HeadWindow& window, double attention_factor) {
  std::vector<double> inv_freq;
  for (std::int64_t i = 0; i < window.pairs(); ++i) {
    inv_freq.push_back(
        std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(window.pairs())));
  }
  return value_of(make_frequencies(window, std::move(inv_freq), attention_factor));
}

Rotations rotations_of(const Frequencies& frequencies, const Positions& positions, RowDType rows) {
  return value_of(make_rotations(frequencies, positions, {.rows = rows}));
}

RowDType rows_for(DType dtype) noexcept {
  return dtype == DType::f64 ? RowDType::f64 : RowDType::f32;
}

Tensor random_tensor(const Shape& shape, std::uint64_t seed) {
  Tensor tensor(shape);
  Random random(seed);
  fill(tensor, random);
  return tensor;
}

Tensor moved_to(Layout layout, const Tensor& tensor) {
  Tensor moved({.dtype = tensor.view().dtype, .extents = tensor.extents(), .layout = layout});
  copy_elements(moved, tensor);
  return moved;
}

Tensor rounded_to(DType dtype, const Tensor& tensor) {
  Tensor rounded({.dtype = dtype, .extents = tensor.extents()});
  for_each_element(tensor.extents(), [&](const HeadIndex& index, std::int64_t f) {
    rounded.set(index, f, tensor.at(index, f));
  });
  return rounded;
}

std::string describe(DType dtype, Pairing pairing, Direction direction) {
  std::string text(to_string(dtype));
  text += ' ';
  text += to_string(pairing);
  switch (direction) {
    case Direction::forward:
      return text + " forward";
    case Direction::inverse:
      return text + " inverse";
    case Direction::transpose:
      return text + " transpose";
  }
  return text;
}

}  // namespace rotary::test
