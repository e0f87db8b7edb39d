// SPDX-License-Identifier: Apache-2.0
// Position ids of batches: makes them from masks or lengths, and checks existing ones.
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

// The largest magnitude of ids, lengths and sums of lengths.
inline constexpr std::int64_t most_position_id = std::int64_t{1} << 40;

// An attention mask, [batch][tokens], contiguous: 0 for padding, other values for real tokens.
struct PaddingMask {
  std::span<const std::int64_t> real = {};
  std::int64_t batch = 1;
};

// The errors of all functions below: invalid_argument, with the requirement and what was got;
// out_of_memory.

// Ids of a padded batch, [batch][tokens - past]; padding gets 0. The first `past` tokens of each
// mask row are cached and get no ids.
[[nodiscard]] ROTARY_API Result<std::vector<std::int64_t>> padded_positions(
    const PaddingMask& attention_mask, std::int64_t past = 0) noexcept;

// Ids of packed sequences, at most most_axis_tokens. past: the cached tokens before each sequence,
// one number for all or one for each; empty: 0. A decode step has lengths of 1; a later chunk of a
// prompt has the tokens before it as past.
[[nodiscard]] ROTARY_API Result<std::vector<std::int64_t>> packed_positions(
    std::span<const std::int64_t> lengths, std::span<const std::int64_t> past = {}) noexcept;

// The lengths of packed sequences. cu_seqlens: 0, then the end of each sequence.
[[nodiscard]] ROTARY_API Result<std::vector<std::int64_t>> sequence_lengths(
    std::span<const std::int64_t> cu_seqlens) noexcept;

// Ids to check, [axes][batch][tokens], contiguous.
struct PositionIds {
  std::span<const std::int64_t> numbers = {};
  std::int64_t batch = 1;
  std::int64_t axes = 1;
};

// Facts that determine ids: a mask or, without one, the lengths of packed sequences with `past`, as
// in packed_positions(). `past` alone is for one sequence in each row. Without facts, each id must
// be 0 or one more than the id before it.
struct KnownSequences {
  PaddingMask attention_mask = {};
  std::span<const std::int64_t> lengths = {};
  std::span<const std::int64_t> past = {};
  std::optional<DType> dtype = {};  // the original type of ids that were not integers
};

// One mistake in the ids of a row.
struct PositionFinding {
  // offset, padding_counted, no_restart, restart, gap, repeat, rounded or other
  std::string_view kind = {};
  std::int64_t row = 0;
  std::int64_t token = 0;  // the first wrong token
  std::string sentence = {};
};

// findings: at most one for each row, and one for the dtype. judged: false if ids differ between
// axes, as those of images do; m_rope.hpp makes such ids.
struct PositionCheck {
  std::string sentence = {};
  std::vector<PositionFinding> findings = {};
  bool judged = true;
};

// Checks ids against the known facts.
[[nodiscard]] ROTARY_API Result<PositionCheck> check_positions(
    const PositionIds& ids, const KnownSequences& known = {}) noexcept;

}  // namespace rotary

#endif  // ROTARY_POSITION_IDS_HPP
