// SPDX-License-Identifier: Apache-2.0
// Fuzzes attend() with tiny calls of every kind. A legal call must be accepted and right within its
// bounds. Any other call must be right or refused. With the caller's memory and an executor, bits
// must be the same. Nothing but results may be written.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fuzz/arena.hpp"
#include "fuzz/attention/attend_case.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/target.hpp"

namespace rotary::fuzz {
namespace {

Arena arena;
WorkMemory work_memory;

Status guarded_run(const check::AttendCall& call) {
  return guarded_call(arena, [&] { return check::run(call); });
}

Result<std::size_t> guarded_bytes(const check::AttendCall& call) {
  return guarded_call(arena, [&] { return check::bytes_for(call); });
}

// True if the library takes at most some milliseconds: it refuses the case, or there are few keys.
bool ends_soon(const AttendCase& of) {
  constexpr std::int64_t few = 5000;
  constexpr std::int64_t refused = std::int64_t{1} << 31;
  const auto is_soon = [](std::int64_t keys) { return keys <= few || keys > refused; };
  if (of.listed.empty()) return is_soon(of.k.extents.tokens);
  return std::ranges::all_of(of.listed,
                             [&](const AttentionSequence& s) { return is_soon(s.keys); });
}

// True if the reference also takes at most some milliseconds on an accepted case.
bool is_small(const AttendCase& of) {
  constexpr double most = 1 << 18;
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  const Extents& q = of.q.extents;
  const double of_row = number(q.heads) * (4 + number(q.features) + number(of.v.extents.features));
  double work = number(q.batch) * (1 + number(q.tokens)) * of_row;
  if (!(work <= most)) return false;
  for (const AttentionSequence& s : of.sequences())
    work += number(s.queries + 1) * number(s.keys) * of_row;
  return work <= most;
}

// True if the call writes a number. Otherwise it needs no memory, whatever attend_bytes says.
bool has_results(const check::AttendCall& of) {
  const auto has_elements = [](const std::optional<ScoresView>& view) {
    return view && reach_of(strided(*view));
  };
  return reach_of(strided(of.out)) || has_elements(of.options.log_sum_exp) ||
         has_elements(of.options.weights);
}

// Repeats the call in the caller's memory, usually with an executor. results: the required bytes.
void check_memory(Bytes& input, check::AttendCall of, const Memory& memory,
                  const std::vector<std::byte>& results) {
  AttendOptions& options = of.options;
  test::CountingExecutor backwards(test::run_backwards, decode_concurrency(input));
  if (!input.once_in(4)) options.executor = backwards.executor();
  const auto bytes = guarded_bytes(of);
  if (!bytes) fail("attend_bytes must accept a legal call", bytes.error().message);
  if (*bytes > WorkMemory::capacity) return;
  // At least one byte: with none, the call would allocate.
  options.memory = work_memory.take(std::max<std::size_t>(*bytes, 1));
  if (*bytes > 1) {
    options.memory = options.memory.first(*bytes - 1);
    const Status status = guarded_run(of);
    if (!status) check_error(status.error());
    if (status && has_results(of)) fail("memory that is too small must be refused");
    check_unchanged(memory, "a call with too little memory must write nothing");
    if (!work_memory.is_untouched()) fail("memory that is too small must stay as it is");
    options.memory = {options.memory.data(), *bytes};
  }
  const Status status = guarded_run(of);
  if (!status) fail("memory of attend_bytes must be enough", status.error().message);
  check_executor(backwards, 1);
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
  if (!decode_attend(input, arena, of) || !is_inside(arena, of) || !ends_soon(of)) return 0;
  const Memory memory = arena.keep();
  const rotary::Status status = guarded_run(of);
  const auto bytes = guarded_bytes(of);
  if (!bytes) {
    check_error(bytes.error());
    if (status) fail("a call without bytes must be refused");
  }
  if (!is_accepted(status, of.expected, memory)) return 0;
  if (is_small(of)) check_rows(verdict(of));
  const auto results = arena.contents();
  put_back_results(of, memory);
  check_unchanged(memory, "nothing but the results must be written");
  if (is_small(of)) check_memory(input, of, memory, results);
  return 0;
}
