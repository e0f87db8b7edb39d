// SPDX-License-Identifier: Apache-2.0
// Fuzzes attend_mapped() with tiny calls. A legal call must be accepted and right within its bound.
// Any other call must be right or refused. With an executor, bits must be the same. Nothing but
// results may be written.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "fuzz/arena.hpp"
#include "fuzz/attention/attend_case.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/check.hpp"
#include "fuzz/frequencies_cache.hpp"
#include "fuzz/target.hpp"

namespace rotary::fuzz {
namespace {

PositionMap decode_map(Bytes& input) {
  const std::int64_t tokens =
      input.once_in(16) ? std::int64_t{1} << input.number(0, 40) : input.number(0, 12);
  switch (input.number(0, 4)) {
    case 0:
      return ReRope{.window = tokens};
    case 1:
      return LeakyReRope{.window = tokens, .factor = input.number(1, 9)};
    case 2:
      return SelfExtend{.neighbors = tokens, .group = input.number(1, 5)};
    case 3:
      return DualChunk{.chunk = std::max<std::int64_t>(tokens, 1),
                       .local = input.byte() % std::max<std::int64_t>(tokens, 1)};
    default:
      return ClippedAngle{.max_angle = static_cast<double>(input.number(1, 50)) / 16};
  }
}

// True if a key has different positions in two sequences.
bool has_conflict(const std::vector<AttentionSequence>& sequences) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> positions;
  for (const AttentionSequence& s : sequences) {
    for (std::int64_t key = 0; key < s.keys; ++key) {
      const auto [at, is_new] =
          positions.try_emplace({s.batch, s.first_key + key}, s.key_position + key);
      if (!is_new && at->second != s.key_position + key) return true;
    }
  }
  return false;
}

void change_any_number(Bytes& input, AttendCase& of) {
  std::vector<std::int64_t*> all;
  append_numbers(all, of);
  append_numbers(all, of.listed);
  if (of.options.log_sum_exp) append_numbers(all, *of.options.log_sum_exp);
  change_number(input, all);
}

Answer change_map(Bytes& input, AttendCase& of) {
  const std::int64_t wrong = input.once_in(2) ? (std::int64_t{1} << 40) + 1 : -input.number(1, 9);
  const std::array<PositionMap, 5> maps = {
      ReRope{.window = wrong}, LeakyReRope{.window = 3, .factor = 0},
      SelfExtend{.neighbors = 3, .group = 0}, DualChunk{.chunk = 4, .local = 4},
      ClippedAngle{.max_angle = std::nan("")}};
  of.map = input.one_of(maps);
  return Answer::refuse;
}

void spoil_mapped(Bytes& input, AttendCase& of) {
  switch (input.number(0, 5)) {
    case 0:
      of.expected = change_any_view(input, of);
      break;
    case 1:
      of.expected = share_out(input, of);
      break;
    case 2:
      of.expected = change_map(input, of);
      break;
    case 3:
      of.options.mask.left = -input.number(1, 5);
      of.expected = Answer::refuse;
      break;
    case 4:
      of.frequencies = nullptr;
      of.expected = Answer::refuse;
      break;
    default:
      change_any_number(input, of);
      of.expected = Answer::either;
  }
}

// Returns false if the case does not fit in the arena.
bool decode_mapped(Bytes& input, Arena& arena, AttendCase& to) {
  Placing placing = begin_case(input, arena);
  to.shape = decode_shape(input);
  AttentionShape& shape = to.shape;
  shape.features = std::max<std::int64_t>(shape.features, 2);
  to.options.q_temperature = decode_temperature(input);
  const bool tempered = !std::holds_alternative<NoTemperature>(to.options.q_temperature);
  const bool listed = input.once_in(2) || (tempered && shape.keys < shape.queries);
  const std::int64_t lowest = tempered ? 0 : -(std::int64_t{1} << 60);
  if (listed) to.listed = decode_sequences(input, shape, lowest);
  if (listed && to.listed.empty() && tempered) return false;
  if (has_conflict(to.listed)) to.expected = Answer::refuse;
  to.map = decode_map(input);
  to.options.scale = decode_scale(input);
  to.options.mask.order = AttentionOrder::causal;
  if (input.once_in(3)) to.options.mask.left = input.number(0, 12);
  const HeadWindow window = decode_pairs(input, shape.features);
  to.owned_frequencies = frequencies_of(window, input.number(0, spec_kinds - 1));
  to.frequencies = &to.owned_frequencies;
  const Extents queries{shape.batch, shape.queries, shape.heads, shape.features};
  const Extents keys{shape.batch, shape.keys, shape.key_heads, shape.features};
  const Extents values{shape.batch, shape.keys, shape.key_heads, shape.value_features};
  const Extents results{shape.batch, shape.queries, shape.heads, shape.value_features};
  to.q = place_heads(placing, decode_attention_dtype(input), queries, Use::read);
  to.k = place_heads(placing, decode_attention_dtype(input), keys, Use::read);
  to.v = place_heads(placing, decode_attention_dtype(input), values, Use::read);
  to.out = place_heads(placing, decode_attention_dtype(input), results, Use::written);
  if (input.once_in(2)) {
    to.options.log_sum_exp =
        place_scores(placing, {shape.batch, shape.heads, shape.queries, 1}, Use::written);
  }
  if (!placing.has_room) return false;
  const bool writes = reach_of(strided(to.out)) ||
                      (to.options.log_sum_exp && reach_of(strided(*to.options.log_sum_exp)));
  if (!writes && to.expected == Answer::refuse) to.expected = Answer::either;
  const Answer unspoilt = to.expected;
  if (input.once_in(3)) spoil_mapped(input, to);
  if (to.expected == Answer::accept) to.expected = unspoilt;
  to.options.sequences = to.listed;
  return true;
}

Arena arena;

Status guarded_run(const check::AttendCall& call) {
  return guarded_call(arena, [&] { return check::run(call); });
}

// The call's memory grows with the number of k's tokens, which is unlimited with a stride of 0.
bool ends_soon(const AttendCase& of) {
  const std::int64_t batch = std::clamp<std::int64_t>(of.k.extents.batch, 1, 1 << 20);
  const std::int64_t tokens = of.k.extents.tokens;
  return batch * std::clamp<std::int64_t>(tokens, 0, 1 << 20) <= 1 << 14 ||
         (of.listed.empty() && tokens > std::int64_t{1} << 31);
}

// The check takes time quadratic in the tokens, unlike the library.
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
  rotary::test::CountingExecutor backwards(rotary::test::run_backwards, decode_concurrency(input));
  rotary::check::AttendCall call(of);
  call.options.executor = backwards.executor();
  if (!guarded_run(call)) fail("a legal call must succeed with any executor");
  check_executor(backwards, 1000);
  if (arena.contents() != results) fail("executors must not change a bit");
  return 0;
}
