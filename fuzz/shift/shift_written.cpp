// SPDX-License-Identifier: Apache-2.0
#include "fuzz/shift/shift_written.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "fuzz/check.hpp"
#include "fuzz/shift/shift_answer.hpp"
#include "fuzz/turned.hpp"
#include "reference/angle.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {
namespace {

struct RowPlace {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t pair = 0;
};

// The position that the bound takes: the distance where that is what the frequencies turn by.
double bound_position(const ShiftCase& shift, long double from, long double to) {
  const Frequencies& a = shift.from.frequencies;
  const Frequencies& b = shift.to.frequencies;
  const bool is_whole = from - std::floor(from) == to - std::floor(to);
  if (a.turns == b.turns && a.inv_freq == b.inv_freq && is_whole) {
    return static_cast<double>(std::abs(to - from));
  }
  return shift_position_bound(static_cast<double>(from), static_cast<double>(to));
}

void check_row(const ShiftCase& shift, const Rotations& by, const RowPlace& at) {
  const long double from = number_at(shift.from.positions, at.batch, at.token);
  const long double to = number_at(shift.to.positions, at.batch, at.token);
  const auto pair = static_cast<std::size_t>(at.pair);
  const auto exact = reference::cos_sin_between(
      {.position = from, .inv_freq = shift.from.frequencies.inv_freq[pair]},
      {.position = to, .inv_freq = shift.to.frequencies.inv_freq[pair]});
  const double factor =
      shift.to.frequencies.attention_factor / shift.from.frequencies.attention_factor;
  const double position = bound_position(shift, from, to);
  const RowOfPair row =
      row_of_pair({.rotations = by, .batch = at.batch, .token = at.token}, at.pair);
  const auto check = [&](double got, long double unscaled) {
    const long double wanted = unscaled * factor;
    const double bound = by.row_dtype() == RowDType::f64
                             ? row_f64_error_bound(factor, position)
                             : row_error_bound(static_cast<double>(wanted), factor, position);
    if (!(std::abs(got - wanted) <= bound)) fail("a row must be within the bound");
  };
  check(row.cos, exact.cos);
  check(row.sin, exact.sin);
}

void check_quantized(const QuantizedHeadsView& keys, const Rotations& by, const Memory& memory) {
  Strided heads = elements_of(keys);
  heads.counts[3] = std::min<std::int64_t>(heads.counts[3], 1);
  for_each_element(heads, [&](const Axes& index) {
    const std::string fault = check::shift_fault(head_at(keys, memory.before.data(), memory, index),
                                                 head_at(keys, memory.after.data(), memory, index),
                                                 check::turn_of(by, index[0], index[1]));
    if (!fault.empty()) fail("a key in 8 bits must be turned within the bound", fault);
  });
}

}  // namespace

void check_rows(const ShiftCase& shift, const Rotations& by) {
  const std::int64_t batch =
      std::max(shift.from.positions.counts.batch, shift.to.positions.counts.batch);
  const std::int64_t tokens = shift.from.positions.counts.tokens;
  if (by.batch() != batch || by.tokens() != tokens) fail("rows must be those of the positions");
  if ((by.row_stride() == 0) != is_one_row(shift.from, shift.to)) {
    fail("one row must serve all tokens where all move alike, and no others");
  }
  const std::int64_t rows = batch * tokens;
  if (rows == 0) return;
  constexpr std::int64_t looked_at = 3;  // multiple precision takes most of the time
  for (std::int64_t i = 0; i < looked_at; ++i) {
    const std::int64_t row = i * (rows - 1) / (looked_at - 1);
    check_row(
        shift, by,
        {.batch = row / tokens,
         .token = row % tokens,
         .pair = static_cast<std::int64_t>(shift.seed >> (8 * i) & 0xFF) % by.window().pairs()});
  }
}

void check_keys(const ShiftCase& shift, const Rotations& by, const Memory& memory) {
  if (shift.quantized) {
    check_quantized(*shift.quantized, by, memory);
    put_back(*shift.quantized, memory);
  } else {
    check_turned(TurnedView{.before = shift.keys, .after = shift.keys}, by, memory);
    put_back(strided(shift.keys), memory);
  }
  check_unchanged(memory, "bytes that belong to no key must stay");
}

}  // namespace rotary::fuzz
