// SPDX-License-Identifier: Apache-2.0
// Compares some rows of attention with the reference.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/attention/attention_job.hpp"
#include "bench/verification.hpp"
#include "rotary/result.hpp"

namespace rotary::bench {

// At most eight queries: the first (with the narrowest bounds), edges of blocks, the last.
[[nodiscard]] std::vector<std::int64_t> sampled_queries(std::int64_t queries);

// Runs the job once and compares every head and feature of the sampled queries. Their indices count
// as positions.
[[nodiscard]] Result<Verification> verify(const AttentionJob& job);

// Checks the job's result without running the job.
[[nodiscard]] Verification verify_result(const AttentionJob& job);

}  // namespace rotary::bench
