// SPDX-License-Identifier: Apache-2.0
// Fuzzes linear_attend() with tiny calls. A legal call must be accepted and right within its bound,
// also from the state of an earlier call. Any other call must be right or refused. With the
// caller's memory and an executor, bits must be equal. Only results and the state may be written.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "check/linear.hpp"
#include "fuzz/arena.hpp"
#include "fuzz/attention/linear_case.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/target.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {
namespace {

Arena arena;
WorkMemory work_memory;

struct Run {
  std::span<std::byte> memory = {};
  Executor executor = {};
};

// Tokens [first, first + count) of a view.
HeadsView tokens_of(HeadsView view, std::int64_t first, std::int64_t count) {
  if (first > 0 && count > 0 && reach_of(strided(view))) {
    view.data =
        static_cast<std::byte*>(view.data) + first * view.strides.token * size_in_bytes(view.dtype);
  }
  view.extents.tokens = count;
  return view;
}

Rotations tokens_of(const Rotations& rotations, std::int64_t first, std::int64_t count) {
  const bool wide = rotations.row_dtype() == RowDType::f64;
  CosSinView rows{.dtype = wide ? DType::f64 : DType::f32,
                  .batch = rotations.batch(),
                  .tokens = count,
                  .batch_stride = rotations.tokens() * rotations.row_stride(),
                  .token_stride = rotations.row_stride()};
  if (count > 0) {
    rows.cos = wide ? static_cast<const void*>(rotations.cos<double>(0, first).data())
                    : rotations.cos(0, first).data();
    rows.sin = wide ? static_cast<const void*>(rotations.sin<double>(0, first).data())
                    : rotations.sin(0, first).data();
  }
  auto made = make_rotations(rotations.window(), rows, {.rows = rotations.row_dtype()});
  if (!made) fail("rows of rotations must be taken", made.error().message);
  return *std::move(made);
}

enum class Queries { none, all };

// A call for tokens [first, first + count). If there are as many queries as keys, it takes these
// tokens' queries. Otherwise it takes all queries or none.
struct Part {
  std::int64_t first = 0;
  std::int64_t count = 0;
  Queries queries = Queries::all;
};

// Calls use(out, heads, options) with the arguments for some tokens.
template <class Use>
auto with_part(const LinearCase& of, const Part& part, const Run& how, const Use& use) {
  const bool are_paired = of.q.extents.tokens == of.k.extents.tokens;
  const std::int64_t first_query = are_paired ? part.first : 0;
  const std::int64_t others = part.queries == Queries::all ? of.q.extents.tokens : 0;
  const std::int64_t queries = are_paired ? part.count : others;
  LinearAttentionOptions options{.mask = of.options.mask,
                                 .segments = of.options.segments,
                                 .epsilon = of.options.epsilon,
                                 .state = of.options.state,
                                 .memory = how.memory,
                                 .executor = how.executor};
  std::optional<Rotations> q_rows;
  std::optional<Rotations> k_rows;
  if (of.options.rotations) {
    q_rows = tokens_of(*of.q_rotations, first_query, queries);
    k_rows = tokens_of(*of.k_rotations, part.first, part.count);
    options.rotations.emplace(NumeratorRotations{*q_rows, *k_rows});
  }
  if (options.segments) {
    SegmentMap& map = *options.segments;
    if (map.data != nullptr && part.count > 0) map.data += part.first * map.token_stride;
    map.tokens = part.count;
  }
  return guarded_call(arena, [&] {
    return use(tokens_of(of.out, first_query, queries),
               LinearHeads{.q = tokens_of(of.q, first_query, queries),
                           .k = tokens_of(of.k, part.first, part.count),
                           .v = tokens_of(of.v, part.first, part.count)},
               options);
  });
}

// Calls use(out, heads, options) for the entire call, or for the tokens after the earlier call.
template <class Use>
auto with_call(const LinearCase& of, const Run& how, const Use& use) {
  if (of.earlier > 0)
    return with_part(of, {of.earlier, of.k.extents.tokens - of.earlier}, how, use);
  LinearAttentionOptions options(of.options);
  options.memory = how.memory;
  options.executor = how.executor;
  return guarded_call(arena, [&] { return use(of.out, of.heads(), options); });
}

// Runs the call. If there are earlier tokens, first runs a call for them, in separate memory.
Status run(const LinearCase& of, const Run& how) {
  const auto call = [&](const HeadsView& out, const LinearHeads& heads,
                        const LinearAttentionOptions& options) {
    return linear_attend(out, heads, of.map, options);
  };
  if (of.earlier > 0) {
    const Part earlier{.first = 0, .count = of.earlier, .queries = Queries::none};
    if (auto status = with_part(of, earlier, {}, call); !status) return status;
  }
  return with_call(of, how, call);
}

// Repeats the call in the caller's memory, with an executor. results: the required contents.
void check_memory(Bytes& input, const LinearCase& of, const Memory& memory,
                  const std::vector<std::byte>& results) {
  test::CountingExecutor backwards(test::run_backwards, decode_concurrency(input));
  Run how{.executor = backwards.executor()};
  const auto bytes = with_call(
      of, how,
      [&](const HeadsView&, const LinearHeads& heads, const LinearAttentionOptions& options) {
        return linear_attend_bytes(heads, of.map, options);
      });
  if (!bytes) fail("linear_attend_bytes must accept a legal call", bytes.error().message);
  if (*bytes > WorkMemory::capacity) return;
  // At least one byte: with none, the call would allocate.
  how.memory = work_memory.take(std::max<std::size_t>(*bytes, 1));
  if (*bytes > 1 && of.earlier == 0) {
    const Status status =
        run(of, {.memory = how.memory.first(*bytes - 1), .executor = how.executor});
    if (status) fail("memory that is too small must be refused");
    check_refused(status.error(), Answer::refuse, memory);
    if (!work_memory.is_untouched()) fail("memory that is too small must stay as it is");
  }
  const Status status = run(of, how);
  if (!status) fail("memory of linear_attend_bytes must be enough", status.error().message);
  check_executor(backwards, 1);
  if (!work_memory.give_back()) fail("nothing must be written beyond the caller's memory");
  if (arena.contents() != results) fail("memory and executors must not change a bit");
}

// Uses the rows of rotations as they are, so positions do not matter.
check::LinearTurn turn_of(const LinearCase& of) {
  const auto rows_of = [](const Rotations& rotations) {
    return [&rotations](std::int64_t batch, std::int64_t token) {
      return check::row_at(rotations, batch, token);
    };
  };
  const double each = of.out.dtype == DType::f64
                          ? rotate_f64_error_bound(Direction::forward, 1, 0.0)
                          : rotate_error_bound(Direction::forward, 1, 0.0);
  return {.q = rows_of(*of.q_rotations),
          .k = rows_of(*of.k_rotations),
          .window = of.q_rotations->window(),
          .errors = 2 * each};
}

check::Verdict verdict_of(const LinearCase& of) {
  const bool are_paired = of.q.extents.tokens == of.k.extents.tokens;
  const std::int64_t first = are_paired ? of.earlier : 0;
  check::LinearCall call{.out = tokens_of(of.out, first, of.out.extents.tokens - first),
                         .heads = of.heads(),
                         .map = of.map,
                         .mask = of.options.mask,
                         .segments = of.options.segments,
                         .epsilon = of.options.epsilon,
                         .earlier = of.earlier,
                         .first_query = first,
                         .largest_exponent = 600};  // e^600 fits in a double
  if (of.options.rotations) call.turn = turn_of(of);
  return check::verdict(call);
}

bool is_small(const LinearCase& of) {
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  const Extents& q = of.q.extents;
  const double rows = number(q.batch) * number(q.heads) * (1 + number(q.tokens));
  const double work = rows * (1 + number(of.k.extents.tokens)) *
                      (4 + number(of.map_features) + number(of.v.extents.features));
  return work <= 1 << 19;
}

}  // namespace
}  // namespace rotary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rotary::fuzz;
  Bytes input(data, size);
  use_instruction_set(input);
  LinearCase of;
  if (!decode_linear(input, arena, of) || !is_callable(arena, of)) return 0;
  const Memory memory = arena.keep();
  const rotary::Status status = run(of, {});
  if (!is_accepted(status, of.expected, memory)) return 0;
  if (is_small(of) && !of.has_any_state) check_rows(verdict_of(of));
  const auto results = arena.contents();
  put_back_results(of, memory);
  check_unchanged(memory, "nothing but the results must be written");
  check_memory(input, of, memory, results);
  return 0;
}
