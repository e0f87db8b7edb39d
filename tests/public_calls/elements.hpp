// SPDX-License-Identifier: Apache-2.0
// Contiguous float32 tensors that cases read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "public_calls/case.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/tensor_view.hpp"
#include "rotary/tokens_view.hpp"

namespace rotary::test {

class Elements {
 public:
  // Numbers of many bits from -1 to 1, the same in every run.
  explicit Elements(std::int64_t count) : numbers_(static_cast<std::size_t>(count)) {
    std::uint32_t state = 1;
    for (float& number : numbers_) {
      state = state * 1664525U + 1013904223U;
      number = static_cast<float>(state) * 0x1p-31F - 1;
    }
  }

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
  [[nodiscard]] ConstTableView matrix(std::int64_t rows, std::int64_t columns) {
    return {.data = numbers_.data(),
            .dtype = DType::f32,
            .rows = rows,
            .features = columns,
            .row_stride = columns};
  }
  [[nodiscard]] std::span<std::byte> bytes() { return bytes_of(numbers_); }
  [[nodiscard]] std::span<const float> numbers() const { return numbers_; }

 private:
  std::vector<float> numbers_;
};

using SharedElements = std::shared_ptr<Elements>;

[[nodiscard]] inline SharedElements elements(std::int64_t count) {
  return std::make_shared<Elements>(count);
}

}  // namespace rotary::test
