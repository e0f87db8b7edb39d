// SPDX-License-Identifier: Apache-2.0
// Compares some rows of attention with the reference.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/attention/attention_job.hpp"
#include "rotary/result.hpp"

namespace rotary::bench {

struct AttentionVerification {
  std::int64_t elements = 0;
  std::int64_t wrong = 0;  // beyond the bound of numeric_contract.hpp
  double worst = 0;        // largest error as a fraction of its bound
  std::int64_t worst_query = 0;
  std::int64_t worst_head = 0;
  std::int64_t worst_feature = 0;
};

// At most eight queries: the first (with the narrowest bounds), edges of blocks, the last.
[[nodiscard]] std::vector<std::int64_t> sampled_queries(std::int64_t queries);

// Runs the job once and compares every head and feature of the sampled queries.
[[nodiscard]] Result<AttentionVerification> verify(const AttentionJob& job);

// Checks the job's result without running the job.
[[nodiscard]] AttentionVerification verify_result(const AttentionJob& job);

}  // namespace rotary::bench
