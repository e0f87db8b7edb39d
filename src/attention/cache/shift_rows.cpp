// SPDX-License-Identifier: Apache-2.0
// The rows of a shift. A pair's phase is its new position's phase minus its old position's, modulo
// 2^64 (a full turn), so no difference of angles is ever rounded. Each row is computed from its own
// phases, so its bits do not depend on the number of tokens.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "attention/cache/shift_checks.hpp"
#include "base/guard.hpp"
#include "base/message.hpp"
#include "base/pairing.hpp"
#include "kernels/kernels.hpp"
#include "phase/fractional_phase.hpp"
#include "phase/turns.hpp"
#include "rotary/shift.hpp"
#include "rotation/frequencies/frequency_checks.hpp"
#include "rotation/frequencies/phase_steps.hpp"
#include "rotation/rows/axis_phases.hpp"
#include "rotation/rows/rotations_access.hpp"
#include "runtime/active_kernels.hpp"
#include "tensor/heads_views.hpp"
#include "tensor/position_access.hpp"
#include "tensor/position_checks.hpp"

namespace rotary {
namespace {

using BlockTurns = std::array<Turns, block_lanes>;

struct TokenCounts {
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
};

TokenCounts counts_of(const Positions& positions) {
  return {.batch = batch_of(positions), .tokens = tokens_of(positions)};
}

// The position on one axis. Positions with a batch of 1 serve every batch row.
SplitPosition place_in(const Positions& positions, std::int64_t axis, const TokenIndex& at) {
  return std::visit(
      [&](const auto& each) {
        const std::int64_t batch = batch_of(each) == 1 ? 0 : at.batch;
        return split_position(coordinate_at(each, axis, {batch, at.token}));
      },
      positions);
}

Coordinates places_in(const RotatedAt& side, const TokenIndex& at) {
  Coordinates all;
  for (std::int64_t axis = 0; axis < side.frequencies.axes.count; ++axis)
    all[static_cast<std::size_t>(axis)] = place_in(side.positions, axis, at);
  return all;
}

Status named(std::string_view side, Status status) {
  if (status) return status;
  Error error = std::move(status).error();
  error.message = message(side, ": ", error.message);
  return error;
}

// Checks the requirements of make_rotations() for one side, and that its keys can be rotated again.
Status check_side(const RotatedAt& side) {
  const Frequencies& frequencies = side.frequencies;
  if (auto status = validate(frequencies, side.positions); !status) return status;
  if (auto status = validate(side.positions, frequencies.axes.count); !status) return status;
  if (auto status = check_within(side.positions, frequencies.contexts); !status) return status;
  if (frequencies.numerics != Numerics::exact) {
    return unsupported("numerics must be exact for keys that are shifted, got ",
                       to_string(frequencies.numerics));
  }
  if (frequencies.xpos) {
    return unsupported(
        "frequencies must be without xpos, whose keys also change their size with the position; "
        "got xpos with scale_base ",
        frequencies.xpos->scale_base);
  }
  const auto [batch, tokens] = counts_of(side.positions);
  if (batch < 1) return invalid_argument("batch must be at least 1, got ", batch);
  if (tokens < 0) return invalid_argument("tokens must be at least 0, got ", tokens);
  return {};
}

std::string describe(const HeadWindow& window) {
  return message(to_string(window.pairing.get()), " pairs of features ", window.first_feature,
                 " to ", window.first_feature + window.rotary_dim - 1, " of ", window.head_dim,
                 window.blocks == 1 ? "" : " in ",
                 window.blocks == 1 ? "" : to_text(window.blocks) + " blocks");
}

double factor_between(const RotatedAt& from, const RotatedAt& to) {
  return to.frequencies.attention_factor / from.frequencies.attention_factor;
}

ShiftSide side_of(const RotatedAt& side) {
  const auto [batch, tokens] = counts_of(side.positions);
  return {side.frequencies.window, side.frequencies.attention_factor, batch, tokens};
}

Status check(const Rotations& rotations, const RotatedAt& from, const RotatedAt& to) {
  if (rotations.role()) {
    return invalid_argument("role must be left out for a shift, which is of keys; got ",
                            to_string(*rotations.role()));
  }
  if (auto status = named("from", check_side(from)); !status) return status;
  if (auto status = named("to", check_side(to)); !status) return status;
  if (auto status = check_sides(side_of(from), side_of(to)); !status) return status;
  const auto memory = RotationsAccess::memory(rotations);
  if (auto status = named("from", check_apart(from.positions, memory)); !status) return status;
  return named("to", check_apart(to.positions, memory));
}

HeadWindow rotated_window(HeadWindow window) {
  window.pairing = rotated(window.pairing);
  return window;
}

// True if a and b are integers, or have the same sign and the same fractional part.
bool have_equal_parts(const SplitPosition& a, const SplitPosition& b) {
  return a.significand == b.significand &&
         (a.is_integer() || (a.right_shift == b.right_shift && a.negative == b.negative));
}

double part_of(const SplitPosition& place) {
  return std::ldexp(static_cast<double>(place.significand), -place.right_shift);
}

// True if a and b are on opposite sides of 0 and their fractional parts add up to 1. They then
// differ by a whole number. Exact: the larger part is at least a half.
bool have_parts_of_one(const SplitPosition& a, const SplitPosition& b) {
  const auto [smaller, larger] = std::minmax({part_of(a), part_of(b)});
  return a.negative != b.negative && 1 - larger == smaller;
}

// The distance from one position to the other, modulo 2^64, if it is a whole number.
std::optional<std::uint64_t> whole_distance(const SplitPosition& from, const SplitPosition& to) {
  const std::uint64_t moved = to.whole - from.whole;
  if (have_equal_parts(from, to)) return moved;
  if (!have_parts_of_one(from, to)) return {};
  return from.negative ? moved + 1 : moved - 1;
}

// Number of tokens whose positions may differ: at most 1 if the stride of tokens is 0.
std::int64_t different_tokens(const Positions& positions) {
  const std::int64_t tokens = tokens_of(positions);
  if (std::holds_alternative<ConsecutivePositions>(positions)) return tokens;
  return heads_view(positions).strides.token == 0 ? std::min<std::int64_t>(tokens, 1) : tokens;
}

// True if every token moves by the same whole number of positions along this axis.
bool moves_as_one(const RotatedAt& from, const RotatedAt& to, std::int64_t axis,
                  const TokenCounts& counts) {
  if (std::holds_alternative<ConsecutivePositions>(from.positions) &&
      std::holds_alternative<ConsecutivePositions>(to.positions)) {
    return true;
  }
  const std::int64_t tokens =
      std::max(different_tokens(from.positions), different_tokens(to.positions));
  if (tokens == 0) return true;  // batch may then be huge
  std::optional<std::uint64_t> distance;
  for (std::int64_t b = 0; b < counts.batch; ++b) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto moved = whole_distance(place_in(from.positions, axis, {b, t}),
                                        place_in(to.positions, axis, {b, t}));
      if (!moved || distance.value_or(*moved) != *moved) return false;
      distance = moved;
    }
  }
  return true;
}

RowSharing sharing_of(const RotatedAt& from, const RotatedAt& to, const TokenCounts& counts) {
  const Frequencies& a = from.frequencies;
  const Frequencies& b = to.frequencies;
  bool is_shared = a.turns == b.turns && a.inv_freq == b.inv_freq && a.axes == b.axes;
  for (std::int64_t axis = 0; is_shared && axis < a.axes.count; ++axis)
    is_shared = moves_as_one(from, to, axis, counts);
  return is_shared ? RowSharing::one_for_all : RowSharing::each_token;
}

// Turns of pairs [pair, pair + count); 0 for padding. Integer positions need only the fraction of a
// turn. Fractional positions also need the whole turns per position.
BlockTurns turns_at(const RotatedAt& side, std::int64_t pair, std::int64_t count) {
  BlockTurns turns{};
  const bool between = std::holds_alternative<TokenArray<double>>(side.positions);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(pair + i);
    turns[static_cast<std::size_t>(i)] = between ? turns_of(side.frequencies.inv_freq[at])
                                                 : Turns{.fraction = side.frequencies.turns[at]};
  }
  return turns;
}

// As phase_of(), but integer positions need only the fraction of a turn.
std::uint64_t phase_at(const SplitPosition& place, const Turns& turns) {
  if (!place.is_integer()) return phase_of(place, turns);
  const std::uint64_t phase = place.whole * turns.fraction;
  return turns.negative ? 0 - phase : phase;
}

struct ShiftRows {
  const RotatedAt& from;
  const RotatedAt& to;
  TokenCounts counts;  // of rows; 1 and 1 if all tokens share one row
  std::byte* rows;
  RowDType dtype;
};

// Phase differences of a block of pairs, if positions have one axis.
class PlacePhases {
 public:
  PlacePhases(const ShiftRows& shift, std::int64_t pair) : from_(shift.from), to_(shift.to) {
    const std::int64_t pairs = from_.frequencies.window.pairs();
    const std::int64_t count = std::clamp<std::int64_t>(pairs - pair, 0, block_lanes);
    old_turns_ = turns_at(from_, pair, count);
    new_turns_ = turns_at(to_, pair, count);
  }

  void write(const TokenIndex& at, std::span<std::uint64_t> phases) const {
    const SplitPosition old_place = place_in(from_.positions, 0, at);
    const SplitPosition new_place = place_in(to_.positions, 0, at);
    for (std::size_t i = 0; i < phases.size(); ++i)
      phases[i] = phase_at(new_place, new_turns_[i]) - phase_at(old_place, old_turns_[i]);
  }

 private:
  const RotatedAt& from_;
  const RotatedAt& to_;
  BlockTurns old_turns_;
  BlockTurns new_turns_;
};

// Phase differences of a block of pairs, if positions have several axes.
class VectorPhases {
 public:
  VectorPhases(const ShiftRows& shift, std::int64_t pair)
      : from_(shift.from),
        to_(shift.to),
        old_phases_(from_.frequencies, pair),
        new_phases_(to_.frequencies, pair) {}

  void write(const TokenIndex& at, std::span<std::uint64_t> phases) const {
    const Coordinates old_places = places_in(from_, at);
    const Coordinates new_places = places_in(to_, at);
    for (std::size_t i = 0; i < phases.size(); ++i)
      phases[i] = new_phases_.of(new_places, i) - old_phases_.of(old_places, i);
  }

 private:
  const RotatedAt& from_;
  const RotatedAt& to_;
  AxisPhases old_phases_;
  AxisPhases new_phases_;
};

// Writes pairs [pair, pair + block_lanes) of every row.
template <class Phases>
void write_block(const ShiftRows& shift, std::int64_t pair, kernels::MakePhaseRow make_phase_row) {
  const Phases of(shift, pair);
  const std::int64_t lane_stride = lane_stride_for(shift.from.frequencies.window.pairs());
  const std::int64_t lanes = std::min(block_lanes, lane_stride - pair);
  const std::int64_t element_bytes = shift.dtype == RowDType::f64 ? 8 : 4;
  std::byte* cos = shift.rows + pair * element_bytes;
  for (std::int64_t b = 0; b < shift.counts.batch; ++b) {
    for (std::int64_t t = 0; t < shift.counts.tokens; ++t) {
      std::array<std::uint64_t, block_lanes> phases;
      of.write({b, t}, std::span(phases).first(static_cast<std::size_t>(lanes)));
      make_phase_row({.phases = phases.data(),
                      .lanes = lanes,
                      .attention_factor = factor_between(shift.from, shift.to),
                      .cos = cos,
                      .sin = cos + lane_stride * element_bytes});
      cos += 2 * lane_stride * element_bytes;
    }
  }
}

void write(const ShiftRows& shift, kernels::MakePhaseRow make_phase_row) {
  const bool one_axis =
      shift.from.frequencies.axes.count == 1 && shift.to.frequencies.axes.count == 1;
  const auto write_pairs = one_axis ? write_block<PlacePhases> : write_block<VectorPhases>;
  const std::int64_t pairs = shift.from.frequencies.window.pairs();
  for (std::int64_t pair = 0; pair < lane_stride_for(pairs); pair += block_lanes)
    write_pairs(shift, pair, make_phase_row);
}

}  // namespace

Status check_sides(const ShiftSide& from, const ShiftSide& to) {
  if (from.window != to.window) {
    return invalid_argument("from and to must turn the same features of a head, got ",
                            describe(from.window), " and ", describe(to.window));
  }
  if (from.tokens != to.tokens) {
    return invalid_argument("from and to must have the same tokens, got ", from.tokens, " and ",
                            to.tokens);
  }
  if (from.batch != to.batch && from.batch != 1 && to.batch != 1) {
    return invalid_argument("from and to must have the same batch, or one of them 1, got ",
                            from.batch, " and ", to.batch);
  }
  const double factor = to.attention_factor / from.attention_factor;
  if (factor >= 0x1p-20 && factor <= 0x1p20) return {};
  return invalid_argument(
      "the attention_factor of to must be 2^-20 to 2^20 times that of from, got ",
      to.attention_factor, " and ", from.attention_factor);
}

Status remake_shift(Rotations& rotations, const RotatedAt& from, const RotatedAt& to) noexcept {
  return guarded([&]() -> Status {
    if (auto status = check(rotations, from, to); !status) return status;
    const auto kernels = active_kernels();
    if (!kernels) return kernels.error();
    TokenCounts counts = counts_of(from.positions);
    counts.batch = std::max(counts.batch, counts_of(to.positions).batch);
    const RowSharing sharing = sharing_of(from, to, counts);
    auto status =
        RotationsAccess::reshape(rotations, {.window = rotated_window(from.frequencies.window),
                                             .attention_factor = factor_between(from, to),
                                             .batch = counts.batch,
                                             .tokens = counts.tokens,
                                             .sharing = sharing});
    if (!status || counts.tokens == 0) return status;
    if (sharing == RowSharing::one_for_all) counts = {.batch = 1, .tokens = 1};
    const bool is_wide = rotations.row_dtype() == RowDType::f64;
    const auto make = is_wide ? (*kernels)->make_phase_row_f64 : (*kernels)->make_phase_row_f32;
    write({from, to, counts, RotationsAccess::rows(rotations), rotations.row_dtype()}, make);
    return {};
  });
}

Result<Rotations> make_shift(const RotatedAt& from, const RotatedAt& to,
                             const RotationsOptions& options) noexcept {
  return guarded([&]() -> Result<Rotations> {
    auto rotations = RotationsAccess::empty(from.frequencies.window, options);
    if (!rotations) return rotations;
    if (auto status = remake_shift(*rotations, from, to); !status) {
      return std::move(status).error();
    }
    return rotations;
  });
}

}  // namespace rotary
