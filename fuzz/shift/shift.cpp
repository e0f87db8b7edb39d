// SPDX-License-Identifier: Apache-2.0
// Fuzzes make_shift, and shift of float and int8 keys, with any frequencies, positions and strides.
// Accepted calls must be right. Refused calls must give a reason and change nothing.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "check/keys.hpp"
#include "check/views.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/shift/shift_case.hpp"
#include "fuzz/target.hpp"
#include "fuzz/turned.hpp"
#include "reference/angle.hpp"
#include "rotary/numeric_contract.hpp"
#include "tests/support/counted_new.hpp"

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

// A long double has at least 64 bits of significand, so it holds every int64 and every double. The
// difference is a whole number if both fractional parts are equal.
bool is_whole_apart(long double from, long double to) {
  const long double a = from - std::floor(from);
  const long double b = to - std::floor(to);
  return a == b;
}

bool have_same_frequencies(const ShiftSide& from, const ShiftSide& to) {
  return from.frequencies.turns == to.frequencies.turns &&
         from.frequencies.inv_freq == to.frequencies.inv_freq;
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

// True if every token moves by the same whole number of positions, under the same frequencies.
// Requires sides that make_shift accepts.
bool is_one_row(const ShiftSide& from, const ShiftSide& to) {
  bool is_one = have_same_frequencies(from, to);
  std::optional<long double> distance;
  for_each_move(from, to, [&](long double a, long double b) {
    const long double moved = std::floor(b) - std::floor(a);
    is_one = is_one && is_whole_apart(a, b) && distance.value_or(moved) == moved;
    distance = moved;
  });
  return is_one;
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

// True if the rotations can rotate keys: no role, exact numerics, a pairing that keeps the layout.
bool turns_keys(const Rotations& by) {
  return !by.role() && by.numerics() == Numerics::exact && keeps_order(by.window().pairing);
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

// The answer that make_shift must give for these options.
Answer expected_of_rows(const ShiftCase& shift, const RotationsOptions& options) {
  if (is_bad_dtype(options) || options.role) return Answer::refuse;
  if (is_bad_side(shift.from) || is_bad_side(shift.to)) return Answer::refuse;
  if (are_bad_together(shift.from, shift.to)) return Answer::refuse;
  return is_bad_memory(shift, options) ? Answer::refuse : Answer::accept;
}

// The answer that shift must give for existing rotations.
Answer expected_of_keys(const ShiftCase& shift, const Rotations& by, const std::byte* buffer) {
  if (!turns_keys(by)) return Answer::refuse;
  if (shift.quantized) return expected_of_quantized(*shift.quantized, by, buffer);
  if (!fits(shift.keys, by) || !is_well_formed(strided(shift.keys))) return Answer::refuse;
  return expected_of_sharing(std::array{strided(shift.keys)}, {}, buffer);
}

struct RowPlace {
  std::int64_t batch = 0;
  std::int64_t token = 0;
  std::int64_t pair = 0;
};

// The position that the bound depends on: the distance, if make_shift rotates by the distance.
double bound_position(const ShiftCase& shift, long double from, long double to) {
  if (have_same_frequencies(shift.from, shift.to) && is_whole_apart(from, to)) {
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
  const reference::CosSin row = check::row_at(by, at.batch, at.token)[pair];
  const auto check = [&](long double got, long double unscaled) {
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
    if (!fault.empty()) fail("an int8 key must be rotated within the bound", fault);
  });
}

// Checks some rows with multiple precision. One row must serve all tokens if it can.
void check_rows(const ShiftCase& shift, const Rotations& by) {
  const std::int64_t batch = std::max(batch_of(shift.from), batch_of(shift.to));
  const std::int64_t tokens = tokens_of(shift.from);
  if (by.batch() != batch || by.tokens() != tokens) fail("there must be a row for each position");
  if ((by.row_stride() == 0) != is_one_row(shift.from, shift.to)) {
    fail("one row must serve all tokens if all move by the same distance, and only then");
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

// Checks that the rows rotated the keys within the bound and that every other byte is unchanged.
void check_keys(const ShiftCase& shift, const Rotations& by, const Memory& memory) {
  if (shift.quantized) {
    check_quantized(*shift.quantized, by, memory);
    put_back(*shift.quantized, memory);
  } else {
    check_turned(shift.keys, shift.keys, {.rotations = by}, memory);
    put_back(strided(shift.keys), memory);
  }
  check_unchanged(memory, "bytes that belong to no key must stay");
}

Buffers buffers;
alignas(64) std::array<std::byte, std::size_t{1} << 17> row_memory;

Result<Rotations> make_rows(const ShiftCase& shift, const RotationsOptions& options) {
  const std::size_t allocations = test::allocation_count();
  auto rotations = make_shift(shift.from.at(), shift.to.at(), options);
  if (rotations && !options.memory.empty() && test::allocation_count() != allocations) {
    fail("rows in the caller's memory must take no other memory");
  }
  return rotations;
}

// Remakes the rows of another shift. Makes new rows if that shift cannot be made.
Result<Rotations> remade(const ShiftCase& shift, const RotationsOptions& options) {
  const Frequencies& frequencies = shift.from.frequencies;
  const ConsecutivePositions few{.first = 7, .tokens = static_cast<std::int64_t>(shift.seed % 3)};
  auto rotations =
      make_shift({frequencies, few}, {frequencies, ConsecutivePositions{0, few.tokens}}, options);
  if (!rotations) return make_rows(shift, options);
  const std::int64_t tokens = rotations->tokens();
  const auto first_row = [&] {
    return tokens > 0 ? check::row_at(*rotations, 0, 0).front() : reference::CosSin{};
  };
  const reference::CosSin row = first_row();
  const auto status = remake_shift(*rotations, shift.from.at(), shift.to.at());
  if (status) return rotations;
  const reference::CosSin kept = first_row();
  if (rotations->tokens() != tokens || kept.cos != row.cos || kept.sin != row.sin) {
    fail("an error must leave rotations unchanged");
  }
  return status.error();
}

// Returns checked rotations, or nullopt if the shift must be refused.
std::optional<Rotations> rows_of(const ShiftCase& shift, const RotationsOptions& options,
                                 const Memory& memory) {
  const Answer expected = expected_of_rows(shift, options);
  auto rotations =
      shift.rows == ShiftRows::remade ? remade(shift, options) : make_rows(shift, options);
  if (!rotations) {
    check_refused(rotations.error(), expected, memory);
    return {};
  }
  if (expected == Answer::refuse) fail("this shift must be refused");
  check_rows(shift, *rotations);
  return *std::move(rotations);
}

// Makes rows by make_rotations, whose arguments other targets check.
std::optional<Rotations> rotated_rows(const ShiftCase& shift) {
  RotationsOptions options{.rows = shift.options.rows, .tensors = shift.options.tensors};
  if (shift.to.frequencies.xpos) options.role = Role::key;
  auto rotations = make_rotations(shift.to.frequencies, positions_of(shift.to.positions), options);
  if (rotations) return *std::move(rotations);
  check_error(rotations.error());
  return {};
}

Status turn(const ShiftCase& shift, const Rotations& by) {
  test::CountingExecutor backwards(test::run_backwards, 3);
  const ShiftOptions options{.executor = shift.has_executor ? backwards.executor() : Executor{}};
  const std::size_t allocations = test::allocation_count();
  auto status = shift.quantized ? rotary::shift(*shift.quantized, by, options)
                                : rotary::shift(shift.keys, by, options);
  check_executor(backwards, 1);
  if (status && test::allocation_count() != allocations) fail("success must allocate nothing");
  return status;
}

Status turn_at_once(const ShiftCase& shift) {
  return shift.quantized ? rotary::shift(*shift.quantized, shift.from.at(), shift.to.at())
                         : rotary::shift(shift.keys, shift.from.at(), shift.to.at());
}

void check_shifted(const ShiftCase& shift, const Rotations& by, const Status& status,
                   const Memory& memory) {
  // This answer depends only on strides and extents, so the keys may be rotated already.
  const Answer expected = expected_of_keys(shift, by, memory.after.data());
  if (!is_accepted(status, expected, memory)) return;
  check_keys(shift, by, memory);
}

void run_at_once(const ShiftCase& shift, const Memory& memory) {
  const bool is_wide = !shift.quantized && shift.keys.dtype == DType::f64;
  const RotationsOptions options{.rows = is_wide ? RowDType::f64 : RowDType::f32};
  const auto by = rows_of(shift, options, memory);
  const auto status = turn_at_once(shift);
  if (by) {
    check_shifted(shift, *by, status, memory);
  } else if (status) {
    fail("a shift whose rows cannot be made must be refused");
  } else {
    check_refused(status.error(), Answer::refuse, memory);
  }
}

// Writes zeros to the first head of a well-formed view.
void write_zeros(const QuantizedHeadsView& keys) {
  const std::span<std::byte> buffer = buffers.buffer();
  Strided head = elements_of(keys);
  if (!is_well_formed(head) || is_empty(head) || !is_small(head)) return;
  head.counts = {1, 1, 1, head.counts[3]};
  for_each_element(head, [&](const Axes& index) {
    buffer[place_of(head, buffer.data(), index)] = std::byte{0};
  });
}

void run(const ShiftCase& shift, const Memory& memory) {
  if (shift.rows == ShiftRows::at_once) {
    run_at_once(shift, memory);
    return;
  }
  const auto by = shift.rows == ShiftRows::rotated ? rotated_rows(shift)
                                                   : rows_of(shift, shift.options, memory);
  if (by) check_shifted(shift, *by, turn(shift, *by), memory);
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  use_instruction_set(input);
  const auto shift = decode_shift(input, buffers.buffer(), row_memory);
  if (!shift) return 0;
  const bool is_quantized = shift->quantized.has_value();
  fill(buffers.buffer(), is_quantized ? rotary::DType::f32 : shift->keys.dtype, shift->noise,
       shift->seed);
  write_numbers(shift->from.positions, shift->from.numbers);
  write_numbers(shift->to.positions, shift->to.numbers);
  if (is_quantized && shift->has_zeros) write_zeros(*shift->quantized);
  run(*shift, buffers.keep());
  return 0;
}
