// SPDX-License-Identifier: Apache-2.0
// The reference for tensors of any strides and any dtype. Heads of a token share its cos and sin,
// so that 4096 tokens of a real model take seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "reference/angle.hpp"
#include "reference/xpos.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::reference {

struct TurnedBy {
  const Positions& positions;
  std::span<const double> inv_freq;
};

// cos and sin of every token and pair, without the attention factor.
class AngleRows {
 public:
  // inv_freq: a frequency for each pair; as in Frequencies if there are several axes. A position
  // with one coordinate serves all axes. Consecutive positions must fit in int64.
  AngleRows(const Positions& positions, std::span<const double> inv_freq,
            const PairAxes& axes = {});
  // Includes the factors of xPos.
  AngleRows(const Positions& positions, std::span<const double> inv_freq, const XposRole& xpos);

  // Angles of `to` minus those of `from`. Either may have a batch of 1.
  AngleRows(const TurnedBy& from, const TurnedBy& to);

  // One token's row [pairs]; a batch of 1 serves every batch row.
  [[nodiscard]] std::span<const CosSin> at(std::int64_t batch, std::int64_t token) const;

 private:
  std::int64_t batch_ = 1;
  std::int64_t tokens_ = 0;
  std::size_t pairs_ = 0;
  std::vector<CosSin> rows_;  // [batch][tokens][pairs]
};

struct TensorRotation {
  HeadWindow window;
  long double attention_factor = 1;
  Direction direction = Direction::forward;
};

struct HeadIndex {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t head = 0;
};

// Double holds every value of every dtype exactly.
[[nodiscard]] double element(const ConstHeadsView& view, const HeadIndex& index,
                             std::int64_t feature) noexcept;

// A visited head: its features and their exact rotation.
struct RotatedHead {
  HeadIndex index;
  std::span<const long double> input;  // [features]
  std::span<const long double> exact;  // [features]
};

// Visits [batch][tokens][heads] in this order.
void for_each_rotated_head(const ConstHeadsView& src, const AngleRows& rows,
                           const TensorRotation& rotation,
                           const std::function<void(const RotatedHead&)>& visit);

// The rotated tensor: [batch][tokens][heads][features], contiguous.
[[nodiscard]] std::vector<long double> rotate_tensor(const ConstHeadsView& src,
                                                     const AngleRows& rows,
                                                     const TensorRotation& rotation);

// One coordinate of a token's position; long double holds every int64 and double.
[[nodiscard]] long double position_at(const Positions& positions, std::int64_t batch,
                                      std::int64_t token, std::int64_t axis = 0);

// The position that a pair's error bound depends on: the coordinate on the pair's axis. If every
// pair depends on all axes, it is the sum of the magnitudes of all coordinates.
[[nodiscard]] long double bounding_position(const Positions& positions, const HeadIndex& token,
                                            const PairAxes& axes, std::size_t pair);

}  // namespace rotary::reference
