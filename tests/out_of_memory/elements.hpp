// SPDX-License-Identifier: Apache-2.0
// Contiguous float32 tensors that cases read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "out_of_memory/attempt.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/tensor_view.hpp"
#include "rotary/tokens_view.hpp"

namespace rotary::test {

class Elements {
 public:
  explicit Elements(std::int64_t count, float value = 0.5F)
      : numbers_(static_cast<std::size_t>(count), value) {}

  [[nodiscard]] HeadsView heads(const Extents& extents) {
    return {.data = numbers_.data(),
            .dtype = DType::f32,
            .extents = extents,
            .strides = strides_bthd(extents)};
  }
  [[nodiscard]] ScoresView scores(const ScoresExtents& extents) {
    return {.data = numbers_.data(),
            .dtype = DType::f32,
            .extents = extents,
            .strides = strides_bhqk(extents)};
  }
  [[nodiscard]] TokensView tokens(const TokenExtents& extents) {
    return {.data = numbers_.data(),
            .dtype = DType::f32,
            .extents = extents,
            .strides = strides_btd(extents)};
  }
  [[nodiscard]] TableView table(std::int64_t rows, std::int64_t features) {
    return {.data = numbers_.data(),
            .dtype = DType::f32,
            .rows = rows,
            .features = features,
            .row_stride = features};
  }
  [[nodiscard]] ConstMatrixView matrix(std::int64_t rows, std::int64_t columns) {
    return {.data = numbers_.data(),
            .dtype = DType::f32,
            .rows = rows,
            .columns = columns,
            .row_stride = columns};
  }
  [[nodiscard]] std::span<std::byte> bytes() { return bytes_of(numbers_); }
  [[nodiscard]] std::span<const float> numbers() const { return numbers_; }

 private:
  std::vector<float> numbers_;
};

using SharedElements = std::shared_ptr<Elements>;

[[nodiscard]] inline SharedElements elements(std::int64_t count, float value = 0.5F) {
  return std::make_shared<Elements>(count, value);
}

}  // namespace rotary::test
