// SPDX-License-Identifier: Apache-2.0
// Position ids of batches: made from what says where sequences begin, and judged.
//
//   const std::vector<std::int64_t> lengths = {3, 2};
//   const auto ids = packed_positions(lengths);               // 0, 1, 2, 0, 1
//   const auto found = check_positions({*ids}, {.lengths = lengths});
//   if (found && !found->findings.empty()) return fail(found->findings.front().sentence);
#ifndef ROTARY_POSITION_IDS_HPP
#define ROTARY_POSITION_IDS_HPP

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rotary/export.h"
#include "rotary/result.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary {

// Ids, lengths and sums of lengths are at most this far from 0: no model counts further.
inline constexpr std::int64_t most_position_id = std::int64_t{1} << 40;

// [batch][tokens], contiguous: not 0 where a token is real. Padding may stand on either side.
struct PaddingMask {
  std::span<const std::int64_t> real = {};
  std::int64_t batch = 1;
};

// The errors of all functions below: invalid_argument, with the requirement and what was got;
// out_of_memory.

// Ids of a padded batch, [batch][tokens - past]; 0 at padding. The mask covers cached tokens, too:
// past of each row are cached, and the ids are those of the others.
[[nodiscard]] ROTARY_API Result<std::vector<std::int64_t>> padded_positions(
    const PaddingMask& attention_mask, std::int64_t past = 0) noexcept;

// Ids of sequences one behind the other, at most most_axis_tokens. past: how many tokens of each
// are cached, one number for all or one for each; none without it. A decode step has lengths of 1,
// a window of n drafts lengths of n, a chunk of a prompt past = what came before it.
[[nodiscard]] ROTARY_API Result<std::vector<std::int64_t>> packed_positions(
    std::span<const std::int64_t> lengths, std::span<const std::int64_t> past = {}) noexcept;

// The lengths of packed sequences whose bounds are given: 0, and where each ends.
[[nodiscard]] ROTARY_API Result<std::vector<std::int64_t>> sequence_lengths(
    std::span<const std::int64_t> cu_seqlens) noexcept;

// [axes][batch][tokens], contiguous.
struct PositionIds {
  std::span<const std::int64_t> numbers = {};
  std::int64_t batch = 1;
  std::int64_t axes = 1;
};

// Facts about ids: a mask, which wins, or the lengths of packed sequences, or past alone. past
// is as in packed_positions(), beside a mask unread. Without any of them runs that rise by 1 are
// right, also packed ones, which begin at 0 again.
struct KnownSequences {
  PaddingMask attention_mask = {};
  std::span<const std::int64_t> lengths = {};
  std::span<const std::int64_t> past = {};
  std::optional<DType> dtype = {};  // what the ids were, if they were no integers
};

// One mistake in the ids of a row.
struct PositionFinding {
  // offset, padding_counted, no_restart, restart, gap, repeat, rounded or other
  std::string_view kind = {};
  std::int64_t row = 0;
  std::int64_t token = 0;  // the first wrong one
  std::string sentence = {};
};

// findings: at most one in each row, and one of the dtype. judged: false of ids that differ between
// axes, which an image or a video has (m_rope.hpp makes them).
struct PositionCheck {
  std::string sentence = {};
  std::vector<PositionFinding> findings = {};
  bool judged = true;
};

// Judges ids by what is known of them.
[[nodiscard]] ROTARY_API Result<PositionCheck> check_positions(
    const PositionIds& ids, const KnownSequences& known = {}) noexcept;

}  // namespace rotary

#endif  // ROTARY_POSITION_IDS_HPP
