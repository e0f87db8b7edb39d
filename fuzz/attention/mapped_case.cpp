// SPDX-License-Identifier: Apache-2.0
#include "fuzz/attention/mapped_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "fuzz/frequencies_cache.hpp"

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

// A window on heads of head_dim, whose pairs turn up to a radian for each position.
Frequencies decode_frequencies(Bytes& input, std::int64_t head_dim) {
  const std::int64_t first = input.once_in(3) ? input.number(0, head_dim - 2) : 0;
  const std::int64_t pairs = input.number(1, (head_dim - first) / 2);
  const HeadWindow window{.head_dim = head_dim,
                          .rotary_dim = 2 * pairs,
                          .first_feature = first,
                          .pairing = all_pairings[static_cast<std::size_t>(input.number(0, 2))]};
  return frequencies_of(window, input.number(0, spec_kinds - 1));
}

// True where a key stands at two positions in several sequences.
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

void change_any_number(Bytes& input, MappedCase& of) {
  std::vector<std::int64_t*> all;
  append_numbers(all, of);
  append_numbers(all, of.sequences);
  if (of.options.attend.log_sum_exp) append_numbers(all, *of.options.attend.log_sum_exp);
  change_number(input, all);
}

Expected change_map(Bytes& input, MappedCase& of) {
  const std::int64_t wrong = input.once_in(2) ? (std::int64_t{1} << 40) + 1 : -input.number(1, 9);
  const std::array<PositionMap, 5> maps = {
      ReRope{.window = wrong}, LeakyReRope{.window = 3, .factor = 0},
      SelfExtend{.neighbors = 3, .group = 0}, DualChunk{.chunk = 4, .local = 4},
      ClippedAngle{.max_angle = std::nan("")}};
  of.options.map = maps[static_cast<std::size_t>(input.number(0, 4))];
  return Expected::refused;
}

void spoil(Bytes& input, MappedCase& of) {
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
      of.options.attend.mask.left = -input.number(1, 5);
      of.expected = Expected::refused;
      break;
    case 4:
      of.options.frequencies = nullptr;
      of.expected = Expected::refused;
      break;
    default:
      change_any_number(input, of);
      of.expected = Expected::either;
  }
}

}  // namespace

bool decode_mapped(Bytes& input, Arena& arena, MappedCase& to) {
  Placing placing = begin_case(input, arena);
  to.shape = decode_shape(input);
  AttentionShape& shape = to.shape;
  shape.head_dim = std::max<std::int64_t>(shape.head_dim, 2);
  to.options.attend.q_temperature = decode_temperature(input);
  const bool tempered = !std::holds_alternative<NoTemperature>(to.options.attend.q_temperature);
  const bool listed = input.once_in(2) || (tempered && shape.keys < shape.queries);
  const std::int64_t lowest = tempered ? 0 : -(std::int64_t{1} << 60);
  if (listed) to.sequences = decode_sequences(input, shape, lowest);
  if (listed && to.sequences.empty() && tempered) return false;
  if (has_conflict(to.sequences)) to.expected = Expected::refused;
  to.options.map = decode_map(input);
  to.options.attend.scale = decode_scale(input);
  to.options.attend.mask.order = AttentionOrder::causal;
  if (input.once_in(3)) to.options.attend.mask.left = input.number(0, 12);
  to.frequencies = decode_frequencies(input, shape.head_dim);
  to.options.frequencies = &to.frequencies;
  const Extents queries{shape.batch, shape.queries, shape.heads(), shape.head_dim};
  const Extents keys{shape.batch, shape.keys, shape.kv_heads, shape.head_dim};
  const Extents values{shape.batch, shape.keys, shape.kv_heads, shape.v_features};
  const Extents results{shape.batch, shape.queries, shape.heads(), shape.v_features};
  to.q = place_heads(placing, decode_attention_dtype(input), queries, Use::read);
  to.k = place_heads(placing, decode_attention_dtype(input), keys, Use::read);
  to.v = place_heads(placing, decode_attention_dtype(input), values, Use::read);
  to.out = place_heads(placing, decode_attention_dtype(input), results, Use::written);
  if (input.once_in(2)) {
    to.options.attend.log_sum_exp =
        place_scores(placing, {shape.batch, shape.heads(), shape.queries, 1}, Use::written);
  }
  if (!placing.has_room) return false;
  const bool writes = reach_of(to.out) || (to.options.attend.log_sum_exp &&
                                           reach_of(as_heads(*to.options.attend.log_sum_exp)));
  if (!writes && to.expected == Expected::refused) to.expected = Expected::either;
  const Expected unspoilt = to.expected;
  if (input.once_in(3)) spoil(input, to);
  if (to.expected == Expected::accepted) to.expected = unspoilt;
  to.options.attend.sequences = to.sequences;
  return true;
}

bool is_callable(const Arena& arena, const MappedCase& of) {
  if (!are_inside(arena, of)) return false;
  if (of.options.attend.log_sum_exp && !is_inside(arena, as_heads(*of.options.attend.log_sum_exp)))
    return false;
  // Memory of the call grows with the tokens of k, which strides of 0 can make any number.
  const std::int64_t batch = std::clamp<std::int64_t>(of.k.extents.batch, 1, 1 << 20);
  const std::int64_t tokens = of.k.extents.tokens;
  return batch * std::clamp<std::int64_t>(tokens, 0, 1 << 20) <= 1 << 14 ||
         (of.sequences.empty() && tokens > std::int64_t{1} << 31);
}

}  // namespace rotary::fuzz
