// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "phase/fractional_phase.hpp"
#include "phase/turns.hpp"
#include "rotation/frequencies/phase_steps.hpp"
#include "rotation/frequencies/xpos_factor.hpp"
#include "rotation/rows/position_rows.hpp"
#include "tensor/position_access.hpp"

namespace rotary {
namespace {

// The constants of a block of pairs. Padding lanes are neither rotated nor scaled.
struct Block {
  std::int64_t pair = 0;
  std::size_t lanes = 0;
  std::array<Turns, block_lanes> turns{};
  std::array<long double, block_lanes> doublings{};  // per position from the center
};

class XposRowsWriter {
 public:
  XposRowsWriter(const RowsMemory& memory, const Frequencies& frequencies,
                 const kernels::KernelTable& kernels)
      : memory_(memory),
        frequencies_(frequencies),
        make_phase_row_(kernels.make_phase_row_f64),
        lane_stride_(lane_stride_for(frequencies.window.pairs())) {}

  template <class Numbers>
  void write(const Numbers& positions) const {
    for (std::int64_t pair = 0; pair < lane_stride_; pair += block_lanes) {
      const Block block = block_from(pair);
      for (std::int64_t batch = 0; batch < batch_of(positions); ++batch) {
        for (std::int64_t token = 0; token < positions.tokens; ++token) {
          write_token(batch * positions.tokens + token, block, number_at(positions, batch, token));
        }
      }
    }
  }

 private:
  [[nodiscard]] Block block_from(std::int64_t pair) const {
    const std::int64_t pairs = frequencies_.window.pairs();
    Block block{.pair = pair,
                .lanes = static_cast<std::size_t>(std::min(block_lanes, lane_stride_ - pair))};
    for (std::int64_t i = 0; i < std::min(block_lanes, pairs - pair); ++i) {
      const auto lane = static_cast<std::size_t>(i);
      block.turns[lane] = turns_of(frequencies_.inv_freq[static_cast<std::size_t>(pair + i)]);
      block.doublings[lane] = xpos_doublings(*frequencies_.xpos, *memory_.role, pair + i, pairs);
    }
    return block;
  }

  template <class Number>
  void write_token(std::int64_t row, const Block& block, Number position) const {
    const SplitPosition split = split_position(position);
    const long double from_center = static_cast<long double>(position) - frequencies_.xpos->center;
    std::array<std::uint64_t, block_lanes> phases;
    std::array<double, block_lanes> cos;
    std::array<double, block_lanes> sin;
    for (std::size_t i = 0; i < block.lanes; ++i) phases[i] = phase_of(split, block.turns[i]);
    make_phase_row_({.phases = phases.data(),
                     .lanes = static_cast<std::int64_t>(block.lanes),
                     .attention_factor = frequencies_.attention_factor,
                     .cos = cos.data(),
                     .sin = sin.data()});
    for (std::size_t i = 0; i < block.lanes; ++i) {
      const double factor = xpos_factor(from_center * block.doublings[i]);
      cos[i] *= factor;
      sin[i] *= factor;
    }
    if (memory_.dtype == RowDType::f64) {
      store<double>(row, block, cos, sin);
    } else {
      store<float>(row, block, cos, sin);
    }
  }

  template <class Real>
  void store(std::int64_t row, const Block& block, const std::array<double, block_lanes>& cos,
             const std::array<double, block_lanes>& sin) const {
    auto* const to = reinterpret_cast<Real*>(memory_.rows) + row * 2 * lane_stride_ + block.pair;
    for (std::size_t i = 0; i < block.lanes; ++i) {
      to[i] = static_cast<Real>(cos[i]);
      to[static_cast<std::size_t>(lane_stride_) + i] = static_cast<Real>(sin[i]);
    }
  }

  const RowsMemory& memory_;
  const Frequencies& frequencies_;
  kernels::MakePhaseRow make_phase_row_;
  std::int64_t lane_stride_;
};

}  // namespace

void write_xpos_rows(const RowsMemory& memory, const Frequencies& frequencies,
                     const Positions& positions, const kernels::KernelTable& kernels) noexcept {
  const XposRowsWriter writer(memory, frequencies, kernels);
  std::visit([&](const auto& each) { writer.write(each); }, positions);
}

}  // namespace rotary
