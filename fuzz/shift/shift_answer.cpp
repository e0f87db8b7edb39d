// SPDX-License-Identifier: Apache-2.0

#include "fuzz/shift/shift_answer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "fuzz/check.hpp"
#include "fuzz/turned.hpp"
#include "reference/angle.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {

namespace {

std::int64_t tokens_of(const ShiftSide& side) { return side.positions.counts.tokens; }
std::int64_t batch_of(const ShiftSide& side) { return side.positions.counts.batch; }

// Calls visit(from, to) for the two positions of every token of every batch row. A stride of 0
// gives all tokens one position.
template <class Visit>
void for_each_move(const ShiftSide& from, const ShiftSide& to, Visit visit) {
  const std::int64_t batch = std::max(batch_of(from), batch_of(to));
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < tokens_of(from); ++t) {
      visit(number_at(from.positions, b, t), number_at(to.positions, b, t));
    }
  }
}

// Long double has 64 bits, so it holds every int64 and every double exactly. The difference is a
// whole number if both fractional parts are equal.
bool is_whole_apart(long double from, long double to) {
  const long double a = from - std::floor(from);
  const long double b = to - std::floor(to);
  return a == b;
}

bool are_within_context(const ShiftSide& side) {
  const std::int64_t last = side.frequencies.contexts.last;
  if (last == ContextRange{}.last) return true;
  for (std::int64_t b = 0; b < batch_of(side); ++b) {
    for (std::int64_t t = 0; t < tokens_of(side); ++t) {
      if (!(number_at(side.positions, b, t) < static_cast<long double>(last))) return false;
    }
  }
  return true;
}

bool is_bad_side(const ShiftSide& side) {
  const Frequencies& frequencies = side.frequencies;
  return frequencies.numerics != Numerics::exact || frequencies.xpos.has_value() ||
         !are_positions(side.positions) || !are_within_context(side);
}

bool are_bad_together(const ShiftSide& from, const ShiftSide& to) {
  const HeadWindow& a = from.frequencies.window;
  const HeadWindow& b = to.frequencies.window;
  if (a.head_dim != b.head_dim || a.rotary_dim != b.rotary_dim ||
      a.first_feature != b.first_feature || a.pairing.get() != b.pairing.get()) {
    return true;
  }
  if (tokens_of(from) != tokens_of(to)) return true;
  if (batch_of(from) != batch_of(to) && batch_of(from) != 1 && batch_of(to) != 1) return true;
  const double factor = to.frequencies.attention_factor / from.frequencies.attention_factor;
  return !(factor >= 0x1p-20 && factor <= 0x1p20);
}

bool is_bad_dtype(const RotationsOptions& options) {
  if (options.rows != RowDType::f32 && options.rows != RowDType::f64) return true;
  if (!options.tensors) return false;
  return size_in_bytes(*options.tensors) == 0 ||
         (*options.tensors == DType::f64) != (options.rows == RowDType::f64);
}

bool is_bad_memory(const ShiftCase& shift, const RotationsOptions& options) {
  if (options.memory.empty()) return false;
  const std::size_t element = options.rows == RowDType::f64 ? 8 : 4;
  if (reinterpret_cast<std::uintptr_t>(options.memory.data()) % element != 0) return true;
  const bool is_shared = is_one_row(shift.from, shift.to);
  const std::int64_t batch = std::max(batch_of(shift.from), batch_of(shift.to));
  const auto bytes = row_bytes(shift.from.frequencies.window, is_shared ? 1 : batch,
                               is_shared ? 1 : tokens_of(shift.from), options.rows);
  if (!bytes) fail("rows that are in memory must have a size", bytes.error().message);
  return options.memory.size() < *bytes;
}

// True for rotations without a role, of numerics exact, for keys in the layout after rotation.
bool turns_keys(const Rotations& by) {
  return !by.role() && by.numerics() == Numerics::exact &&
         by.window().pairing.get() != Pairing::interleaved_to_half;
}

Answer expected_of_quantized(const QuantizedHeadsView& keys, const Rotations& by,
                             const std::byte* buffer) {
  if (by.tensors() || by.row_dtype() != RowDType::f32 || !fit(keys.extents, by)) {
    return Answer::refuse;
  }
  if (!is_well_formed(keys)) return Answer::refuse;
  const Strided elements = elements_of(keys);
  if (is_empty(elements)) return Answer::accept;
  return expected_of_sharing(std::array{elements, scales_of(keys)}, {}, buffer);
}

}  // namespace

bool is_one_row(const ShiftSide& from, const ShiftSide& to) {
  if (from.frequencies.turns != to.frequencies.turns ||
      from.frequencies.inv_freq != to.frequencies.inv_freq) {
    return false;
  }
  bool is_one = true;
  std::optional<long double> distance;
  for_each_move(from, to, [&](long double a, long double b) {
    const long double moved = std::floor(b) - std::floor(a);
    is_one = is_one && is_whole_apart(a, b) && distance.value_or(moved) == moved;
    distance = moved;
  });
  return is_one;
}

Answer expected_of_rows(const ShiftCase& shift, const RotationsOptions& options) {
  if (is_bad_dtype(options) || options.role) return Answer::refuse;
  if (is_bad_side(shift.from) || is_bad_side(shift.to)) return Answer::refuse;
  if (are_bad_together(shift.from, shift.to)) return Answer::refuse;
  return is_bad_memory(shift, options) ? Answer::refuse : Answer::accept;
}

Answer expected_of_keys(const ShiftCase& shift, const Rotations& by, const std::byte* buffer) {
  if (!turns_keys(by)) return Answer::refuse;
  if (shift.quantized) return expected_of_quantized(*shift.quantized, by, buffer);
  if (!fits(shift.keys, by) || !is_well_formed(strided(shift.keys))) return Answer::refuse;
  return expected_of_sharing(std::array{strided(shift.keys)}, {}, buffer);
}

namespace {

struct RowPlace {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t pair = 0;
};

// The position for the bound: the distance, if frequencies are multiplied by it.
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
