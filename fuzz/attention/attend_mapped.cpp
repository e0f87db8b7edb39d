// SPDX-License-Identifier: Apache-2.0
// attend_mapped() on tiny calls. A legal call must be accepted and right within its bound; any
// other call must be right or refused. An executor must give the same bits. Only results may be
// written.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "fuzz/arena.hpp"
#include "fuzz/attention/attend_case.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/executor.hpp"
#include "fuzz/target.hpp"

namespace rotary::fuzz {
namespace {

Arena arena;

Status guarded_run(const check::AttendCall& call) {
  return guarded_call(arena, [&] { return check::run(call); });
}

// The call's memory grows with the tokens of k. With strides of 0 there may be any number of them.
bool ends_soon(const AttendCase& of) {
  const std::int64_t batch = std::clamp<std::int64_t>(of.k.extents.batch, 1, 1 << 20);
  const std::int64_t tokens = of.k.extents.tokens;
  return batch * std::clamp<std::int64_t>(tokens, 0, 1 << 20) <= 1 << 14 ||
         (of.listed.empty() && tokens > std::int64_t{1} << 31);
}

// The check takes quadratic time in the tokens, unlike the library.
bool is_small(const AttendCase& of) {
  const Extents& q = of.q.extents;
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  return number(q.batch) * (1 + number(q.tokens)) * (1 + number(of.k.extents.tokens)) *
             number(q.heads) * (4 + number(q.features)) <=
         1 << 17;
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  use_instruction_set(input);
  AttendCase of;
  if (!decode_mapped(input, arena, of) || !is_inside(arena, of) || !ends_soon(of)) return 0;
  const Memory memory = arena.keep();
  const rotary::Status status = guarded_run(of);
  if (!is_accepted(status, of.expected, memory)) return 0;
  if (is_small(of)) check_rows(verdict(of));
  const auto results = arena.contents();
  put_back_results(of, memory);
  check_unchanged(memory, "nothing but the results must be written");
  if (!is_small(of)) return 0;
  Backwards backwards(decode_concurrency(input), 1000);
  rotary::check::AttendCall call(of);
  call.options.executor = backwards.executor();
  if (!guarded_run(call)) fail("a legal call must succeed whoever runs it");
  if (arena.contents() != results) fail("executors must not change a bit");
  return 0;
}
