// SPDX-License-Identifier: Apache-2.0
#include "rotation/rows/position_rows.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <variant>

#include "phase/fractional_phase.hpp"
#include "phase/turns.hpp"
#include "rotation/frequencies/phase_steps.hpp"
#include "tensor/position_access.hpp"

namespace rotary {
namespace {

template <class Number>
SplitPosition at(const TokenArray<Number>& positions, std::int64_t batch, std::int64_t token) {
  return split_position(number_at(positions, batch, token));
}

// Number of consecutive integers from this token on. Requires an integer at this token.
template <class Number>
std::int64_t run_length(const TokenArray<Number>& positions, std::int64_t batch,
                        std::int64_t token) {
  const std::uint64_t first = at(positions, batch, token).whole;
  std::int64_t length = 1;
  for (; token + length < positions.tokens; ++length) {
    const SplitPosition next = at(positions, batch, token + length);
    if (!next.is_integer() || next.whole != first + static_cast<std::uint64_t>(length)) break;
  }
  return length;
}

class RowsWriter {
 public:
  RowsWriter(const RowsMemory& memory, const Frequencies& frequencies,
             const kernels::KernelTable& kernels)
      : frequencies_(frequencies),
        rows_(memory.rows),
        pairs_(frequencies.window.pairs()),
        lane_stride_(lane_stride_for(pairs_)) {
    const bool wide = memory.dtype == RowDType::f64;
    element_bytes_ = wide ? 8 : 4;
    make_rows_ = wide ? kernels.make_rows_f64 : kernels.make_rows_f32;
    make_phase_row_ = wide ? kernels.make_phase_row_f64 : kernels.make_phase_row_f32;
  }

  void write(const ConsecutivePositions& positions) const {
    write_run(0, static_cast<std::uint64_t>(positions.first), positions.tokens);
  }

  // Writes runs of consecutive positions, which are long in packed documents.
  template <class Number>
  void write(const TokenArray<Number>& positions) const {
    bool all_integers = true;
    for (std::int64_t batch = 0; batch < positions.batch; ++batch) {
      for (std::int64_t token = 0; token < positions.tokens;) {
        const SplitPosition first = at(positions, batch, token);
        if (!first.is_integer()) {
          all_integers = false;
          ++token;
          continue;
        }
        const std::int64_t length = run_length(positions, batch, token);
        write_run(batch * positions.tokens + token, first.whole, length);
        token += length;
      }
    }
    if (all_integers) return;
    for (std::int64_t pair = 0; pair < lane_stride_; pair += block_lanes) {
      write_between(positions, pair);
    }
  }

 private:
  void write_run(std::int64_t row, std::uint64_t first, std::int64_t tokens) const {
    make_rows_({.turns = frequencies_.turns.data(),
                .steps = frequencies_.steps.data(),
                .pairs = pairs_,
                .lane_stride = lane_stride_,
                .attention_factor = frequencies_.attention_factor,
                .first_position = first,
                .tokens = tokens,
                .rows = element(row, 0)});
  }

  // Writes pairs [pair, pair + block_lanes) of every fractional position.
  template <class Number>
  void write_between(const TokenArray<Number>& positions, std::int64_t pair) const {
    std::array<Turns, block_lanes> turns{};  // padding does not rotate
    const std::int64_t turning = std::min(block_lanes, pairs_ - pair);
    for (std::int64_t i = 0; i < turning; ++i) {
      turns[static_cast<std::size_t>(i)] =
          turns_of(frequencies_.inv_freq[static_cast<std::size_t>(pair + i)]);
    }
    for (std::int64_t batch = 0; batch < positions.batch; ++batch) {
      for (std::int64_t token = 0; token < positions.tokens; ++token) {
        const SplitPosition position = at(positions, batch, token);
        if (!position.is_integer()) {
          write_phases(batch * positions.tokens + token, pair, position, turns);
        }
      }
    }
  }

  void write_phases(std::int64_t row, std::int64_t pair, const SplitPosition& position,
                    const std::array<Turns, block_lanes>& turns) const {
    const std::int64_t lanes = std::min(block_lanes, lane_stride_ - pair);
    std::array<std::uint64_t, block_lanes> phases;
    for (std::size_t i = 0; i < static_cast<std::size_t>(lanes); ++i) {
      phases[i] = phase_of(position, turns[i]);
    }
    make_phase_row_({.phases = phases.data(),
                     .lanes = lanes,
                     .attention_factor = frequencies_.attention_factor,
                     .cos = element(row, pair),
                     .sin = element(row, lane_stride_ + pair)});
  }

  [[nodiscard]] std::byte* element(std::int64_t row, std::int64_t lane) const {
    return rows_ + (row * 2 * lane_stride_ + lane) * element_bytes_;
  }

  const Frequencies& frequencies_;
  std::byte* rows_;
  std::int64_t pairs_;
  std::int64_t lane_stride_;
  std::int64_t element_bytes_ = 4;
  kernels::MakeRows make_rows_ = nullptr;
  kernels::MakePhaseRow make_phase_row_ = nullptr;
};

}  // namespace

void write_rows(const RowsMemory& memory, const Frequencies& frequencies,
                const Positions& positions, const kernels::KernelTable& kernels) noexcept {
  if (frequencies.numerics != Numerics::exact) {
    write_recipe_rows(memory, frequencies, positions);
    return;
  }
  if (frequencies.xpos) {
    write_xpos_rows(memory, frequencies, positions, kernels);
    return;
  }
  if (frequencies.axes.count > 1 && (frequencies.axes.is_dense() || axes_of(positions) > 1)) {
    write_axis_rows(memory, frequencies, positions, kernels);
    return;
  }
  const RowsWriter writer(memory, frequencies, kernels);
  std::visit([&](const auto& each) { writer.write(each); }, positions);
}

}  // namespace rotary
