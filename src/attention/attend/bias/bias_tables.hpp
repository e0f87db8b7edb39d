// SPDX-License-Identifier: Apache-2.0
// The biases of what one worker of attend() does, kept from block to block: each distance of a
// sequence is evaluated once for a head, not once for a block of queries. FIRE has a table for the
// queries up to its threshold, which share their divisor, and a row for each query beyond.
#pragma once

#include <cstdint>
#include <optional>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/bias/fire_rows.hpp"
#include "attention/attend/bias/score_bias.hpp"
#include "attention/attend/key_limits.hpp"
#include "kernels/attend/attend_kernels.hpp"

namespace rotary {

// Entries beyond what a row needs in each table of a bias (RowLimits).
inline constexpr std::int64_t bias_margin = kernels::keys_of_panel;

// Of the rows of FIRE that exist at once.
inline constexpr std::int64_t row_bias_stride = kernels::keys_of_tile + 2 * bias_margin;

// Elements of BiasMemory, the most that any sequence of a call needs.
struct BiasSizes {
  std::int64_t terms = 0;
  std::int64_t tables = 0;
  std::int64_t rows = 0;
  std::int64_t breaks = 0;        // of FIRE
  std::int64_t denominators = 0;  // of FIRE
};

[[nodiscard]] BiasSizes largest(const BiasSizes& a, const BiasSizes& b) noexcept;

struct BiasMemory {
  double* terms = nullptr;
  float* tables = nullptr;
  float* rows = nullptr;
  double* denominators = nullptr;
  FireMemory fire;
};

// Heads and queries that meet the keys of their sequence together.
struct BiasedBlock {
  AttentionSequence sequence;
  AttentionMask mask;
  KeyRun keys;                   // of the sequence, those that are met
  std::int64_t first_query = 0;  // of the sequence
  std::int64_t queries = 0;
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
};

// Of such blocks, whatever their first query and, of so many, their keys, and so many rows of FIRE
// at once.
[[nodiscard]] BiasSizes bias_sizes(const ScoreBias& bias, const BiasedBlock& block,
                                   std::int64_t rows) noexcept;

class BiasTables {
 public:
  // bias: null where there is none.
  BiasTables(const ScoreBias* bias, kernels::FillPieces fill_pieces,
             const BiasMemory& memory) noexcept;

  // What follows is about this block.
  void begin(const BiasedBlock& block) noexcept;

  // Whether a query of the block has rows instead of a table.
  [[nodiscard]] bool has_rows(std::int64_t query) const noexcept;

  // Of a query that has none; both counted from the first one of the block.
  void set_table(kernels::RowLimits& limits, std::int64_t query, std::int64_t head) const noexcept;

  // Of one that does: makes row number `row` of those that exist at once, of the keys of
  // `keys` that are within the limits.
  struct Row {
    std::int64_t row = 0;
    std::int64_t query = 0;
    std::int64_t head = 0;
    KeyRun keys;  // at most keys_of_tile
  };
  void make_row(kernels::RowLimits& limits, const Row& row) noexcept;

 private:
  [[nodiscard]] std::int64_t position(std::int64_t query) const noexcept {
    return block_.sequence.query_position + block_.first_query + query;
  }
  void make_terms() noexcept;
  void make_tables() noexcept;
  void fill_tables() noexcept;

  const ScoreBias* bias_;
  BiasMemory memory_;
  std::optional<FireRows> fire_;
  BiasedBlock block_;
  Distances range_;        // of the terms
  Distances table_range_;  // of the tables
  std::int64_t table_stride_ = 0;
  std::int64_t first_head_ = 0;  // of the tables
  std::int64_t heads_ = 0;
};

}  // namespace rotary
