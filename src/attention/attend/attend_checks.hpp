// SPDX-License-Identifier: Apache-2.0
// What attend() asks before it writes anything.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "attention/attend/attend_call.hpp"
#include "rotary/result.hpp"

namespace rotary {

// The longest head of q, k and v. MLA has 576; what a thread works in grows with it.
inline constexpr std::int64_t largest_head_of_attention = std::int64_t{1} << 14;

// Heads of q; what a thread works in grows with those of a kv head.
inline constexpr std::int64_t most_heads_of_attention = std::int64_t{1} << 20;

// Keys of a sequence: float32 sums mean nothing for more.
inline constexpr std::int64_t most_keys_of_attention = std::int64_t{1} << 31;

// Others' views as views of heads, for what is asked of memory: queries are tokens, keys features;
// of a block table, sequences are tokens, blocks features; of a matrix, rows are tokens.
[[nodiscard]] ConstHeadsView view_of(const ConstScoresView& view);
[[nodiscard]] ConstHeadsView view_of(const BlockTable& table);
[[nodiscard]] ConstHeadsView view_of(const ConstMatrixView& table);

struct NamedTable {
  std::string_view name;
  const ShawTable* table;  // null: not given
};
[[nodiscard]] std::array<NamedTable, 2> shaw_tables(const AttendCall& call);

// What a call may write beside out.
struct NamedScores {
  std::string_view name;
  const std::optional<ScoresView>& view;
  std::int64_t keys;  // that it has to have
};
[[nodiscard]] std::array<NamedScores, 2> scores_written(const AttendCall& call);

// Of everything but what is written.
[[nodiscard]] Status check_read(const AttendCall& call);

// Requires check_read.
[[nodiscard]] Status check_written(const AttendCall& call);

}  // namespace rotary
