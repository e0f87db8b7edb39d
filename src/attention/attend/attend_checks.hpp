// SPDX-License-Identifier: Apache-2.0
// The requirements of attend(), checked before it writes anything.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "attention/attend/attend_call.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Most features of a head of q, k and v; MLA has 576. A thread's scratch memory grows with it.
inline constexpr std::int64_t largest_head_of_attention = std::int64_t{1} << 14;

// Most heads of q; a thread's scratch memory grows with the query heads per kv head.
inline constexpr std::int64_t most_heads_of_attention = std::int64_t{1} << 20;

// Most keys of a sequence: float32 sums are meaningless for more.
inline constexpr std::int64_t most_keys_of_attention = std::int64_t{1} << 31;

// Other views as views of heads, for the memory checks. Scores: queries become tokens and keys
// features. Block table: sequences become tokens and blocks features. Matrix: rows become tokens.
[[nodiscard]] ConstHeadsView view_of(const ConstScoresView& view);
[[nodiscard]] ConstHeadsView view_of(const BlockTable& table);
[[nodiscard]] ConstHeadsView view_of(const ConstMatrixView& table);

struct NamedTable {
  std::string_view name;
  const ShawTable* table;  // null: not given
};
[[nodiscard]] std::array<NamedTable, 2> shaw_tables(const AttendCall& call);

// Scores that a call may write besides out.
struct NamedScores {
  std::string_view name;
  const std::optional<ScoresView>& view;
  std::int64_t keys;  // that the view must have
};
[[nodiscard]] std::array<NamedScores, 2> scores_written(const AttendCall& call);

// Checks everything except what is written.
[[nodiscard]] Status check_read(const AttendCall& call);

// Requires check_read().
[[nodiscard]] Status check_written(const AttendCall& call);

}  // namespace rotary
