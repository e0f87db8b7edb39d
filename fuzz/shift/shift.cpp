// SPDX-License-Identifier: Apache-2.0
// make_shift and shift of floats and int8, with any frequencies and positions on both sides and
// keys of any strides. Accepted calls must be right. Refused calls must give a reason and change
// nothing.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/executor.hpp"
#include "fuzz/heap.hpp"
#include "fuzz/shift/shift_answer.hpp"
#include "fuzz/shift/shift_case.hpp"
#include "fuzz/target.hpp"
#include "fuzz/turned.hpp"

namespace rotary::fuzz {
namespace {

Buffers buffers;
alignas(64) std::array<std::byte, std::size_t{1} << 17> row_memory;

Result<Rotations> make_rows(const ShiftCase& shift, const RotationsOptions& options) {
  const std::size_t allocated = allocated_bytes();
  auto rotations = make_shift(shift.from.at(), shift.to.at(), options);
  if (rotations && !options.memory.empty() && allocated_bytes() != allocated) {
    fail("rows in memory of the caller must take no other");
  }
  return rotations;
}

// Remakes rows of another shift, or makes new ones if no other shift is allowed here.
Result<Rotations> remade(const ShiftCase& shift, const RotationsOptions& options) {
  const Frequencies& frequencies = shift.from.frequencies;
  const ConsecutivePositions few{.first = 7, .tokens = static_cast<std::int64_t>(shift.seed % 3)};
  auto rotations =
      make_shift({frequencies, few}, {frequencies, ConsecutivePositions{0, few.tokens}}, options);
  if (!rotations) return make_rows(shift, options);
  const std::int64_t tokens = rotations->tokens();
  const RowOfPair row = tokens > 0 ? row_of_pair({.rotations = *rotations}, 0) : RowOfPair{};
  const auto status = remake_shift(*rotations, shift.from.at(), shift.to.at());
  if (status) return rotations;
  const RowOfPair kept = tokens > 0 ? row_of_pair({.rotations = *rotations}, 0) : RowOfPair{};
  if (rotations->tokens() != tokens || kept.cos != row.cos || kept.sin != row.sin) {
    fail("on an error rotations must be as they were");
  }
  return status.error();
}

// Rotations that passed their checks; nothing if there must be none.
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

// Other targets check the arguments of make_rotations.
std::optional<Rotations> rotated_rows(const ShiftCase& shift) {
  RotationsOptions options{.rows = shift.options.rows, .tensors = shift.options.tensors};
  if (shift.to.frequencies.xpos) options.role = Role::key;
  auto rotations = make_rotations(shift.to.frequencies, positions_of(shift.to.positions), options);
  if (rotations) return *std::move(rotations);
  check_error(rotations.error());
  return {};
}

Status turn(const ShiftCase& shift, const Rotations& by) {
  Backwards backwards;
  const ShiftOptions options{.executor = shift.has_executor ? backwards.executor() : Executor{}};
  const std::size_t allocated = allocated_bytes();
  auto status = shift.quantized ? rotary::shift(*shift.quantized, by, options)
                                : rotary::shift(shift.keys, by, options);
  if (status && allocated_bytes() != allocated) fail("success must allocate nothing");
  return status;
}

Status turn_at_once(const ShiftCase& shift) {
  return shift.quantized ? rotary::shift(*shift.quantized, shift.from.at(), shift.to.at())
                         : rotary::shift(shift.keys, shift.from.at(), shift.to.at());
}

void check(const ShiftCase& shift, const Rotations& by, const Status& status,
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
    check(shift, *by, status, memory);
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
  if (by) check(shift, *by, turn(shift, *by), memory);
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
