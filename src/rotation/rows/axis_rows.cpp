// SPDX-License-Identifier: Apache-2.0
// A pair that turns by one of several axes gets the same bits as with a single axis. Integer
// coordinates use an anchor and a step, fractional ones their phase. Dense axes sum their phases.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <variant>

#include "rotation/rows/axis_phases.hpp"
#include "rotation/rows/position_rows.hpp"

namespace rotary {
namespace {

constexpr std::int64_t tokens_at_once = 64;

class AxisRowsWriter {
 public:
  AxisRowsWriter(const RowsMemory& memory, const Frequencies& frequencies,
                 const kernels::KernelTable& kernels)
      : frequencies_(frequencies),
        rows_(memory.rows),
        pairs_(frequencies.window.pairs()),
        axes_(frequencies.axes.count),
        lane_stride_(lane_stride_for(pairs_)) {
    const bool wide = memory.dtype == RowDType::f64;
    element_bytes_ = wide ? 8 : 4;
    make_axis_rows_ = wide ? kernels.make_axis_rows_f64 : kernels.make_axis_rows_f32;
    make_phase_row_ = wide ? kernels.make_phase_row_f64 : kernels.make_phase_row_f32;
  }

  template <class Numbers>
  void write(const Numbers& positions) const {
    if (frequencies_.axes.is_dense() || write_integers(positions) == Coverage::some)
      for (std::int64_t pair = 0; pair < lane_stride_; pair += block_lanes)
        write_phases(positions, pair);
  }

 private:
  // Whether all coordinates were integers.
  enum class Coverage { all, some };

  // Writes every pair with an integer coordinate; other pairs get meaningless numbers.
  template <class Numbers>
  [[nodiscard]] Coverage write_integers(const Numbers& positions) const {
    std::array<std::uint64_t, tokens_at_once * max_axes> coordinates;
    Coverage coverage = Coverage::all;
    for (std::int64_t batch = 0; batch < batch_of(positions); ++batch) {
      for (std::int64_t first = 0; first < positions.tokens; first += tokens_at_once) {
        const std::int64_t count = std::min(tokens_at_once, positions.tokens - first);
        auto* to = coordinates.data();
        for (std::int64_t token = first; token < first + count; ++token) {
          const Coordinates at = coordinates_at(positions, axes_, {batch, token});
          for (std::int64_t axis = 0; axis < axes_; ++axis) {
            const SplitPosition& each = at[static_cast<std::size_t>(axis)];
            if (!each.is_integer()) coverage = Coverage::some;
            *to++ = each.whole;
          }
        }
        write_run(batch * positions.tokens + first, count, coordinates.data());
      }
    }
    return coverage;
  }

  void write_run(std::int64_t row, std::int64_t tokens, const std::uint64_t* coordinates) const {
    make_axis_rows_({.rows = {.turns = frequencies_.turns.data(),
                              .steps = frequencies_.steps.data(),
                              .pairs = pairs_,
                              .lane_stride = lane_stride_,
                              .attention_factor = frequencies_.attention_factor,
                              .first_position = 0,
                              .tokens = tokens,
                              .rows = element(row, 0)},
                     .pair_axes = frequencies_.axes.of_pair.data(),
                     .coordinates = coordinates,
                     .axes = axes_});
  }

  // Writes pairs [pair, pair + block_lanes) with fractional coordinates; all pairs of dense axes.
  template <class Numbers>
  void write_phases(const Numbers& positions, std::int64_t pair) const {
    const AxisPhases phases(frequencies_, pair);
    for (std::int64_t batch = 0; batch < batch_of(positions); ++batch) {
      for (std::int64_t token = 0; token < positions.tokens; ++token) {
        const std::int64_t row = batch * positions.tokens + token;
        write_row(row, pair, phases, coordinates_at(positions, axes_, {batch, token}));
      }
    }
  }

  void write_row(std::int64_t row, std::int64_t pair, const AxisPhases& phases,
                 const Coordinates& at) const {
    const auto of_token = std::span(at).first(static_cast<std::size_t>(axes_));
    const auto is_integer = [](const SplitPosition& each) { return each.is_integer(); };
    const bool all =
        frequencies_.axes.is_dense() || std::none_of(of_token.begin(), of_token.end(), is_integer);
    if (!all && std::all_of(of_token.begin(), of_token.end(), is_integer)) return;
    const auto lanes = static_cast<std::size_t>(std::min(block_lanes, lane_stride_ - pair));
    std::array<std::uint64_t, block_lanes> of_lane;
    for (std::size_t lane = 0; lane < lanes; ++lane) of_lane[lane] = phases.of(at, lane);
    alignas(8) std::array<std::byte, 2 * block_lanes * 8> some;
    std::byte* const cos = all ? element(row, pair) : some.data();
    std::byte* const sin = all ? element(row, lane_stride_ + pair) : cos + block_lanes * 8;
    make_phase_row_({.phases = of_lane.data(),
                     .lanes = static_cast<std::int64_t>(lanes),
                     .attention_factor = frequencies_.attention_factor,
                     .cos = cos,
                     .sin = sin});
    if (all) return;
    const auto bytes = static_cast<std::size_t>(element_bytes_);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (at[phases.axis_of(lane)].is_integer()) continue;
      const auto to = pair + static_cast<std::int64_t>(lane);
      std::memcpy(element(row, to), cos + lane * bytes, bytes);
      std::memcpy(element(row, lane_stride_ + to), sin + lane * bytes, bytes);
    }
  }

  [[nodiscard]] std::byte* element(std::int64_t row, std::int64_t lane) const {
    return rows_ + (row * 2 * lane_stride_ + lane) * element_bytes_;
  }

  const Frequencies& frequencies_;
  std::byte* rows_;
  std::int64_t pairs_;
  std::int64_t axes_;
  std::int64_t lane_stride_;
  std::int64_t element_bytes_ = 4;
  kernels::MakeAxisRows make_axis_rows_ = nullptr;
  kernels::MakePhaseRow make_phase_row_ = nullptr;
};

}  // namespace

static_assert(max_axes == kernels::most_axes);

void write_axis_rows(const RowsMemory& memory, const Frequencies& frequencies,
                     const Positions& positions, const kernels::KernelTable& kernels) noexcept {
  const AxisRowsWriter writer(memory, frequencies, kernels);
  std::visit([&](const auto& each) { writer.write(each); }, positions);
}

}  // namespace rotary
