// SPDX-License-Identifier: Apache-2.0
#include "attention/maps/pass_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/attend/bounded_count.hpp"
#include "base/message.hpp"
#include "rotation/rows/rotations_access.hpp"

namespace rotary {
namespace {

constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::min();

TokenPositions tokens_of(const AttendCall& call, const Extents& extents, std::int64_t unset) {
  TokenPositions positions;
  positions.batch = call.sequences().batch_rows > 0 ? 1 : extents.batch;
  positions.tokens = extents.tokens;
  const std::int64_t count = bounded_product(positions.batch, positions.tokens);
  positions.at.assign(static_cast<std::size_t>(count), unset);
  return positions;
}

// Cuts a sequence by units of query positions. Each part has the keys that its queries see.
void add_units(std::vector<AttentionSequence>& all, const AttentionSequence& whole,
               const PassKeys& keys) {
  const std::int64_t queries_end = whole.query_position + whole.queries;
  const std::int64_t keys_end = whole.key_position + whole.keys;
  for (std::int64_t begin = whole.query_position; begin < queries_end;) {
    const std::int64_t unit = floor_divided(begin, keys.unit);
    const std::int64_t end = std::min(queries_end, (unit + 1) * keys.unit);
    const std::int64_t first_key =
        keys.farthest == any_distance
            ? whole.key_position
            : std::max(whole.key_position, (unit - keys.farthest) * keys.unit);
    const std::int64_t end_key = std::min(keys_end, (unit - keys.nearest + 1) * keys.unit);
    if (first_key < end_key) {
      all.push_back({.batch = whole.batch,
                     .first_query = whole.first_query + begin - whole.query_position,
                     .queries = end - begin,
                     .first_key = whole.first_key + first_key - whole.key_position,
                     .keys = end_key - first_key,
                     .query_position = begin,
                     .key_position = first_key});
    }
    begin = end;
  }
}

}  // namespace

TokenPositions query_positions(const AttendCall& call) {
  TokenPositions positions = tokens_of(call, call.q.extents, 0);
  const Sequences sequences = call.sequences();
  for (std::int64_t index = 0; index < sequences.different(); ++index) {
    const AttentionSequence s = sequences[index];
    auto* const first = positions.at.data() + s.batch * positions.tokens + s.first_query;
    for (std::int64_t i = 0; i < s.queries; ++i) first[i] = s.query_position + i;
  }
  return positions;
}

Result<TokenPositions> key_positions(const AttendCall& call) {
  TokenPositions positions = tokens_of(call, call.k.extents, nowhere);
  const Sequences sequences = call.sequences();
  for (std::int64_t index = 0; index < sequences.different(); ++index) {
    const AttentionSequence s = sequences[index];
    auto* const first = positions.at.data() + s.batch * positions.tokens + s.first_key;
    for (std::int64_t j = 0; j < s.keys; ++j) {
      const std::int64_t position = s.key_position + j;
      if (first[j] != nowhere && first[j] != position) {
        return invalid_argument("sequences: a key must stand at one position, got ", position,
                                " in sequence ", index, " for token ", s.first_key + j,
                                " of batch row ", s.batch, ", which stands at ", first[j],
                                " in an earlier one");
      }
      first[j] = position;
    }
  }
  std::replace(positions.at.begin(), positions.at.end(), nowhere, std::int64_t{0});
  return positions;
}

std::int64_t farthest_key(const AttendCall& call) noexcept {
  std::int64_t farthest = -1;
  const Sequences sequences = call.sequences();
  for (std::int64_t index = 0; index < sequences.count(); ++index) {
    const AttentionSequence s = sequences[index];
    if (s.queries > 0 && s.keys > 0)
      farthest = std::max(farthest, s.query_position + s.queries - 1 - s.key_position);
  }
  return call.options.mask.left ? std::min(farthest, *call.options.mask.left) : farthest;
}

void PassRows::hold(std::int64_t pair, double max_angle, const Frequencies& frequencies) {
  const double a = frequencies.attention_factor;
  const double inv_freq = frequencies.inv_freq[static_cast<std::size_t>(pair)];
  const double angle = role_ == Role::query ? std::copysign(max_angle, inv_freq) : 0;
  auto* row = reinterpret_cast<float*>(RotationsAccess::rows(*rotations_));
  for (std::int64_t t = 0; t < positions_.batch * positions_.tokens; ++t) {
    row[pair] = static_cast<float>(a * std::cos(angle));
    row[rotations_->lane_stride() + pair] = static_cast<float>(a * std::sin(angle));
    row += rotations_->row_stride();
  }
}

Status PassRows::make(const MapPass& pass, const Frequencies& frequencies) {
  const Made wanted{.by = role_ == Role::query ? pass.query : pass.key, .slower = pass.slower};
  if (made_ != wanted) {
    turned_.clear();
    for (const std::int64_t position : positions_.at) turned_.push_back(wanted.by.of(position));
    const Positions at = positions_of(turned_, positions_.batch);
    if (!rotations_) {
      auto made = make_rotations(frequencies, at);
      if (!made) return made.error();
      rotations_ = std::move(*made);
    } else if (auto status = remake_rotations(*rotations_, frequencies, at); !status) {
      return status;
    }
    made_ = wanted;
    held_to_ = 0;
  }
  if (!pass.max_angle) return {};
  for (std::int64_t pair = 0; pair < frequencies.window.pairs(); ++pair) {
    const std::int64_t rests_from =
        positions_to(*pass.max_angle, frequencies.inv_freq[static_cast<std::size_t>(pair)]);
    if (rests_from > held_to_ && rests_from <= pass.keys.nearest)
      hold(pair, *pass.max_angle, frequencies);
  }
  held_to_ = pass.keys.nearest;
  return {};
}

AttentionMask mask_of(const MapPass& pass, const AttentionMask& mask) noexcept {
  AttentionMask result = mask;
  if (pass.keys.unit > 1) return result;
  if (pass.keys.farthest != any_distance)
    result.left = std::min(mask.left.value_or(any_distance), pass.keys.farthest);
  if (pass.keys.nearest > 0) result.right = -pass.keys.nearest;
  return result;
}

std::vector<AttentionSequence> sequences_of(const MapPass& pass, const AttendCall& call) {
  std::vector<AttentionSequence> all;
  const Sequences sequences = call.sequences();
  for (std::int64_t index = 0; index < sequences.count(); ++index) {
    const AttentionSequence sequence = sequences[index];
    if (pass.keys.unit > 1) {
      add_units(all, sequence, pass.keys);
    } else if (sequence.queries > 0 && sequence.keys > 0) {
      all.push_back(sequence);
    }
  }
  return all;
}

}  // namespace rotary
