// SPDX-License-Identifier: Apache-2.0
// attend_mapped() on tiny calls: a legal call is accepted and right within its bound, any other one
// is right or refused; the same bits by an executor; nothing but the results is ever written.
#include <cstddef>
#include <cstdint>

#include "fuzz/arena.hpp"
#include "fuzz/attention/mapped_case.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/executor.hpp"
#include "fuzz/instruction_set_case.hpp"
#include "fuzz/target.hpp"

namespace rotary::fuzz {
namespace {

Arena arena;

Status run(const MappedCase& of, const MappedAttention& options) {
  return guarded_call(arena, [&] { return attend_mapped(of.out, of.q, of.k, of.v, options); });
}

// The check is quadratic in the tokens; the library is not.
bool is_small(const MappedCase& of) {
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
  MappedCase of;
  if (!decode_mapped(input, arena, of) || !is_callable(arena, of)) return 0;
  arena.remember();
  const rotary::Status status = run(of, of.options);
  if (!is_accepted(arena, status, of.expected)) return 0;
  arena.allow_nothing();
  allow_elements(arena, of.out);
  if (of.options.attend.log_sum_exp)
    allow_elements(arena, as_heads(*of.options.attend.log_sum_exp));
  if (arena.differs()) fail("nothing but the results must be written");
  if (!is_small(of)) return 0;
  check_mapped(of);
  const auto results = arena.contents();
  arena.restore();
  Backwards backwards(decode_concurrency(input), 1000);
  rotary::MappedAttention options = of.options;
  options.attend.executor = backwards.executor();
  if (!run(of, options)) fail("a legal call must succeed whoever runs it");
  if (arena.contents() != results) fail("executors must not change a bit");
  return 0;
}
