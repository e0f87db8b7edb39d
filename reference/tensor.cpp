// SPDX-License-Identifier: Apache-2.0
// Walks a strided tensor and applies the element-wise form to each head.
#include "reference/tensor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <variant>

#include "reference/forms.hpp"

namespace rotary::reference {
namespace {

struct PositionShape {
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
};

PositionShape shape_of(const Positions& positions) {
  const auto shape = []<class Each>(const Each& each) -> PositionShape {
    if constexpr (requires { each.batch; }) return {each.batch, each.tokens};
    return {.tokens = each.tokens};
  };
  return std::visit(shape, positions);
}

std::int64_t number_at(const ConsecutivePositions& positions, std::int64_t, std::int64_t token,
                       std::int64_t) {
  return positions.first + token;
}

template <class Number>
auto number_at(const TokenArray<Number>& positions, std::int64_t batch, std::int64_t token,
               std::int64_t axis) {
  const std::int64_t row = positions.batch == 1 ? 0 : batch;
  const std::int64_t plane = positions.axes == 1 ? 0 : axis;
  return positions.data[plane * positions.axis_stride + row * positions.batch_stride +
                        token * positions.token_stride];
}

template <class T>
T read_at(const void* data, std::int64_t offset) {
  T value;
  std::memcpy(&value, static_cast<const T*>(data) + offset, sizeof value);
  return value;
}

// IEEE 754-2019, 3.4; binary16 has 5 exponent bits and 10 fraction bits.
double value_of_binary16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double magnitude = 0;
  if (exponent == 31) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else {
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  }
  return std::copysign(magnitude, (bits >> 15) != 0 ? -1.0 : 1.0);
}

}  // namespace

long double position_at(const Positions& positions, std::int64_t batch, std::int64_t token,
                        std::int64_t axis) {
  return std::visit(
      [&](const auto& each) {
        return static_cast<long double>(number_at(each, batch, token, axis));
      },
      positions);
}

long double bounding_position(const Positions& positions, const HeadIndex& token,
                              const PairAxes& axes, std::size_t pair) {
  if (axes.count > 1 && axes.of_pair.empty()) {
    long double sum = 0;
    for (std::int64_t axis = 0; axis < axes.count; ++axis)
      sum += std::abs(position_at(positions, token.batch, token.token, axis));
    return sum;
  }
  const std::int64_t axis = axes.count == 1 ? 0 : axes.of_pair.at(pair);
  return position_at(positions, token.batch, token.token, axis);
}

AngleRows::AngleRows(const Positions& positions, std::span<const double> inv_freq,
                     const PairAxes& axes)
    : batch_(shape_of(positions).batch), tokens_(shape_of(positions).tokens) {
  const bool dense = axes.count > 1 && axes.of_pair.empty();
  pairs_ = dense ? inv_freq.size() / static_cast<std::size_t>(axes.count) : inv_freq.size();
  for (std::int64_t b = 0; b < batch_; ++b) {
    for (std::int64_t t = 0; t < tokens_; ++t) {
      for (std::size_t i = 0; i < pairs_; ++i) {
        std::vector<Angle> angles;
        for (std::int64_t axis = 0; axis < axes.count; ++axis) {
          const auto plane = dense ? static_cast<std::size_t>(axis) * pairs_ : 0;
          if (dense || axes.count == 1 || axes.of_pair.at(i) == axis)
            angles.push_back({position_at(positions, b, t, axis), inv_freq[plane + i]});
        }
        rows_.push_back(cos_sin_of_sum(angles));
      }
    }
  }
}

AngleRows::AngleRows(const Positions& positions, std::span<const double> inv_freq,
                     const XposRole& xpos)
    : AngleRows(positions, inv_freq) {
  const auto pairs = static_cast<std::int64_t>(pairs_);
  auto row = rows_.begin();
  for (std::int64_t b = 0; b < batch_; ++b) {
    for (std::int64_t t = 0; t < tokens_; ++t) {
      for (std::int64_t pair = 0; pair < pairs; ++pair, ++row) {
        const long double factor =
            xpos_factor(xpos, {.pair = pair, .pairs = pairs}, position_at(positions, b, t));
        row->cos *= factor;
        row->sin *= factor;
      }
    }
  }
}

AngleRows::AngleRows(const TurnedBy& from, const TurnedBy& to)
    : batch_(std::max(shape_of(from.positions).batch, shape_of(to.positions).batch)),
      tokens_(shape_of(from.positions).tokens),
      pairs_(from.inv_freq.size()) {
  for (std::int64_t b = 0; b < batch_; ++b) {
    for (std::int64_t t = 0; t < tokens_; ++t) {
      for (std::size_t i = 0; i < pairs_; ++i) {
        rows_.push_back(cos_sin_between({position_at(from.positions, b, t), from.inv_freq[i]},
                                        {position_at(to.positions, b, t), to.inv_freq[i]}));
      }
    }
  }
}

std::span<const CosSin> AngleRows::at(std::int64_t batch, std::int64_t token) const {
  const std::int64_t row = (batch_ == 1 ? 0 : batch) * tokens_ + token;
  return std::span(rows_).subspan(static_cast<std::size_t>(row) * pairs_, pairs_);
}

double element(const ConstHeadsView& view, const HeadIndex& index, std::int64_t feature) noexcept {
  const std::int64_t offset = index.batch * view.strides.batch + index.token * view.strides.token +
                              index.head * view.strides.head + feature * view.strides.feature;
  switch (view.dtype) {
    case DType::f32:
      return read_at<float>(view.data, offset);
    case DType::bf16:
      return std::bit_cast<float>(std::uint32_t{read_at<std::uint16_t>(view.data, offset)} << 16);
    case DType::f16:
      return value_of_binary16(read_at<std::uint16_t>(view.data, offset));
    case DType::f64:
      return read_at<double>(view.data, offset);
  }
  return std::numeric_limits<double>::quiet_NaN();
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
