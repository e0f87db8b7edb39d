// SPDX-License-Identifier: Apache-2.0
// The biases that one worker of attend() keeps between blocks. Each distance of a sequence is
// evaluated once per head, not once per block of queries. FIRE's queries up to its threshold share
// a divisor, so they share a table. Each later query has a row.
#pragma once

#include <cstdint>
#include <optional>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/bias/fire_rows.hpp"
#include "attention/attend/bias/score_bias.hpp"
#include "attention/attend/key_limits.hpp"
#include "kernels/attend/attend_kernels.hpp"

namespace rotary {

// Extra entries at each end of a bias table or row, which RowLimits requires.
inline constexpr std::int64_t bias_margin = kernels::keys_of_panel;

// Floats from one FIRE row to the next in BiasMemory::rows.
inline constexpr std::int64_t row_bias_stride = kernels::keys_of_tile + 2 * bias_margin;

struct BiasSizes {
  std::int64_t terms = 0;
  std::int64_t tables = 0;
  std::int64_t rows = 0;
  std::int64_t breaks = 0;        // FIRE only
  std::int64_t denominators = 0;  // FIRE only
};

[[nodiscard]] BiasSizes largest(const BiasSizes& a, const BiasSizes& b) noexcept;

struct BiasMemory {
  double* terms = nullptr;
  float* tables = nullptr;
  float* rows = nullptr;
  double* denominators = nullptr;
  FireMemory fire;
};

// Heads and queries of one sequence that attend to one range of keys.
struct BiasedBlock {
  AttentionSequence sequence;
  AttentionMask mask;
  KeyRun keys;                   // within the sequence
  std::int64_t first_query = 0;  // within the sequence
  std::int64_t queries = 0;
  std::int64_t first_head = 0;
  std::int64_t heads = 0;
};

// Sizes that suffice for every block of this sequence with the same numbers of queries, heads and
// keys, and for `rows` FIRE rows at a time.
[[nodiscard]] BiasSizes bias_sizes(const ScoreBias& bias, const BiasedBlock& block,
                                   std::int64_t rows) noexcept;

class BiasTables {
 public:
  // bias: null for none.
  BiasTables(const ScoreBias* bias, const kernels::BiasKernels& kernels,
             const BiasMemory& memory) noexcept;

  // Makes the tables of a block unless they exist already.
  void begin(const BiasedBlock& block) noexcept;

  // True if a query at this position needs bias rows instead of a table.
  [[nodiscard]] bool has_rows(std::int64_t position) const noexcept;

  // For a query without rows: points limits at a head's table. key_0: distance of key 0.
  void set_table(kernels::RowLimits& limits, std::int64_t head, std::int64_t key_0) const noexcept;

  // For a query with rows: fills bias row `row` for those of `keys` within the limits, and points
  // the limits at the row.
  struct Row {
    std::int64_t row = 0;
    std::int64_t query = 0;  // within the block
    std::int64_t head = 0;
    std::int64_t key_0 = 0;  // distance of key 0 from the query
    KeyRun keys;             // at most keys_of_tile
  };
  void make_row(kernels::RowLimits& limits, const Row& row) noexcept;

 private:
  void make_terms(const BiasedBlock& block) noexcept;
  void make_tables(const BiasedBlock& block) noexcept;
  void fill_tables() noexcept;
  void fill_fire_tables(std::int64_t query_position) noexcept;

  const ScoreBias* bias_;
  kernels::BiasKernels kernels_;
  BiasMemory memory_;
  std::optional<FireRows> fire_;
  Distances range_;        // of terms
  Distances table_range_;  // of tables
  std::int64_t table_stride_ = 0;
  std::int64_t first_head_ = 0;  // of tables
  std::int64_t heads_ = 0;
};

}  // namespace rotary
