// SPDX-License-Identifier: Apache-2.0
// attend() on tiny calls of every kind: a legal call is accepted and right within its bounds, any
// other one is right or refused; the same bits in the caller's memory and by an executor; nothing
// else is ever touched.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuzz/arena.hpp"
#include "fuzz/attention/attend_answer.hpp"
#include "fuzz/attention/attend_case.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/executor.hpp"
#include "fuzz/instruction_set_case.hpp"
#include "fuzz/target.hpp"

namespace rotary::fuzz {
namespace {

Arena arena;
WorkMemory work_memory;

Status run(const AttendCase& of, const AttendOptions& options) {
  return guarded_call(arena, [&] {
    if (of.in_int8) return attend(of.out, of.q, quantized_keys(of), options);
    if (!of.table) return attend(of.out, of.q, of.k, of.v, options);
    return attend(of.out, of.q, {.k = of.k, .v = of.v, .table = *of.table}, options);
  });
}

Result<std::size_t> bytes_for(const AttendCase& of, const AttendOptions& options) {
  return guarded_call(arena, [&] {
    if (of.in_int8) return attend_bytes(of.q, quantized_keys(of), options);
    if (!of.table) return attend_bytes(of.q, of.k, of.v, options);
    return attend_bytes(of.q, {.k = of.k, .v = of.v, .table = *of.table}, options);
  });
}

// Every view that the library may read lies in its place of the arena, or in none at all.
bool is_inside(const AttendCase& of) {
  if (!are_inside(arena, of)) return false;
  const QuantizedKeys keys = quantized_keys(of);
  for (const auto& heads : {keys.k, keys.v}) {
    if (of.in_int8 && !is_inside(arena, scales_of(heads))) return false;
  }
  for (const auto& view : {of.options.log_sum_exp, of.options.weights}) {
    if (view && !is_inside(arena, as_heads(*view))) return false;
  }
  const AttendOptions& options = of.options;
  if (options.additive_mask && !is_inside(arena, as_heads(*options.additive_mask))) return false;
  if (options.boolean_mask && !is_inside(arena, as_heads(*options.boolean_mask))) return false;
  for (const ShawTable* shaw : {of.options.encoding.shaw_keys, of.options.encoding.shaw_values}) {
    if (shaw != nullptr && !is_inside(arena, shaw->table)) return false;
  }
  if (!of.table) return true;
  return is_inside(
      arena, ConstHeadsView{.data = of.table->blocks,
                            .dtype = DType::f32,
                            .extents = {1, of.table->sequences, 1, of.table->blocks_of_sequence},
                            .strides = {.token = of.table->stride}});
}

// Without a number to write a call needs no memory, which attend_bytes does not see.
bool has_results(const AttendCase& of) {
  const auto has_elements = [](const std::optional<ScoresView>& view) {
    return view && reach_of(as_heads(*view));
  };
  return reach_of(of.out) || has_elements(of.options.log_sum_exp) ||
         has_elements(of.options.weights);
}

// The same call in the caller's memory, cut by an executor.
void check_memory(Bytes& input, const AttendCase& of) {
  const std::vector<std::byte> results = arena.contents();
  AttendOptions options = of.options;
  Backwards backwards(decode_concurrency(input));
  if (!input.once_in(4)) options.executor = backwards.executor();
  const auto bytes = bytes_for(of, options);
  if (!bytes) fail("bytes of a legal call must be told", bytes.error().message);
  if (*bytes > WorkMemory::capacity) return;
  arena.restore();
  // Not of no bytes: the call would allocate.
  options.memory = work_memory.take(std::max<std::size_t>(*bytes, 1));
  if (*bytes > 1) {
    options.memory = options.memory.first(*bytes - 1);
    const Status status = run(of, options);
    if (!status) check_error(status.error());
    if (status && has_results(of)) fail("memory that is too small must be refused");
    arena.allow_nothing();
    if (arena.differs() || !work_memory.is_untouched())
      fail("nothing must be written where memory is too small");
    options.memory = {options.memory.data(), *bytes};
  }
  const Status status = run(of, options);
  if (!status) fail("memory of attend_bytes must be enough", status.error().message);
  if (!work_memory.give_back()) fail("nothing must be written beyond the caller's memory");
  if (arena.contents() != results) fail("memory and executors must not change a bit");
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  use_instruction_set(input);
  AttendCase of;
  if (!decode_attend(input, arena, of) || !is_inside(of) || !ends_soon(of)) return 0;
  arena.remember();
  const rotary::Status status = run(of, of.options);
  const auto bytes = bytes_for(of, of.options);
  if (!bytes) {
    check_error(bytes.error());
    if (status) fail("a call without bytes must be refused");
  }
  if (!is_accepted(arena, status, of.expected)) return 0;
  allow_results(arena, of);
  if (arena.differs()) fail("nothing but the results must be written");
  if (!is_small(of)) return 0;
  check_results(of);
  check_memory(input, of);
  return 0;
}
