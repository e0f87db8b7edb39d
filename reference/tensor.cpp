// SPDX-License-Identifier: Apache-2.0
// Walks a strided tensor head by head and applies the element-wise form to each.
#include "reference/tensor.hpp"

#include <bit>
#include <cstring>
#include <variant>

#include "reference/forms.hpp"

namespace rotary::reference {
namespace {

struct PositionShape {
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
};

PositionShape shape_of(const Positions& positions) {
  if (const auto* consecutive = std::get_if<ConsecutivePositions>(&positions)) {
    return {.batch = 1, .tokens = consecutive->tokens};
  }
  if (const auto* narrow = std::get_if<PositionArray<std::int32_t>>(&positions)) {
    return {.batch = narrow->batch, .tokens = narrow->tokens};
  }
  const auto& wide = std::get<PositionArray<std::int64_t>>(positions);
  return {.batch = wide.batch, .tokens = wide.tokens};
}

template <class Integer>
std::int64_t element_of(const PositionArray<Integer>& array, std::int64_t batch,
                        std::int64_t token) {
  return array.data[batch * array.batch_stride + token * array.token_stride];
}

}  // namespace

std::int64_t position_at(const Positions& positions, std::int64_t batch, std::int64_t token) {
  if (const auto* consecutive = std::get_if<ConsecutivePositions>(&positions)) {
    return consecutive->first + token;
  }
  if (const auto* narrow = std::get_if<PositionArray<std::int32_t>>(&positions)) {
    return element_of(*narrow, narrow->batch == 1 ? 0 : batch, token);
  }
  const auto& wide = std::get<PositionArray<std::int64_t>>(positions);
  return element_of(wide, wide.batch == 1 ? 0 : batch, token);
}

AngleRows::AngleRows(const Positions& positions, std::span<const double> inv_freq)
    : batch_(shape_of(positions).batch),
      tokens_(shape_of(positions).tokens),
      pairs_(inv_freq.size()) {
  for (std::int64_t b = 0; b < batch_; ++b) {
    for (std::int64_t t = 0; t < tokens_; ++t) {
      const std::int64_t position = position_at(positions, b, t);
      for (const double frequency : inv_freq) rows_.push_back(cos_sin(position, frequency));
    }
  }
}

std::span<const CosSin> AngleRows::at(std::int64_t batch, std::int64_t token) const {
  const std::int64_t row = (batch_ == 1 ? 0 : batch) * tokens_ + token;
  return std::span(rows_).subspan(static_cast<std::size_t>(row) * pairs_, pairs_);
}

float element(const ConstHeadsView& view, const HeadIndex& index, std::int64_t feature) noexcept {
  const std::int64_t offset = index.batch * view.strides.batch + index.token * view.strides.token +
                              index.head * view.strides.head + feature * view.strides.feature;
  if (view.dtype == DType::bf16) {
    std::uint16_t upper = 0;
    std::memcpy(&upper, static_cast<const std::uint16_t*>(view.data) + offset, sizeof upper);
    return std::bit_cast<float>(static_cast<std::uint32_t>(upper) << 16);
  }
  float value = 0;
  std::memcpy(&value, static_cast<const float*>(view.data) + offset, sizeof value);
  return value;
}

void for_each_rotated_head(const ConstHeadsView& src, const AngleRows& rows,
                           const TensorRotation& rotation,
                           const std::function<void(const RotatedHead&)>& visit) {
  std::vector<long double> input(static_cast<std::size_t>(src.extents.features));
  for (std::int64_t b = 0; b < src.extents.batch; ++b) {
    for (std::int64_t t = 0; t < src.extents.tokens; ++t) {
      for (std::int64_t h = 0; h < src.extents.heads; ++h) {
        const HeadIndex index{.batch = b, .token = t, .head = h};
        for (std::int64_t f = 0; f < src.extents.features; ++f) {
          input[static_cast<std::size_t>(f)] = element(src, index, f);
        }
        const auto exact = rotate_by_elements(input, rotation.window,
                                              {.angles = rows.at(b, t),
                                               .attention_factor = rotation.attention_factor,
                                               .direction = rotation.direction});
        visit({.index = index, .input = input, .exact = exact});
      }
    }
  }
}

std::vector<long double> rotate_tensor(const ConstHeadsView& src, const AngleRows& rows,
                                       const TensorRotation& rotation) {
  std::vector<long double> values;
  for_each_rotated_head(src, rows, rotation, [&](const RotatedHead& head) {
    values.insert(values.end(), head.exact.begin(), head.exact.end());
  });
  return values;
}

}  // namespace rotary::reference
