// SPDX-License-Identifier: Apache-2.0
#include "bench/attention/attention_verification.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace rotary::bench {

std::vector<std::int64_t> sampled_queries(std::int64_t queries) {
  const std::array<std::int64_t, 8> wanted = {0,   1,           7,           63,
                                              256, queries / 2, queries - 2, queries - 1};
  std::vector<std::int64_t> sampled;
  for (const std::int64_t query : wanted) {
    if (query >= 0 && query < queries) sampled.push_back(query);
  }
  std::sort(sampled.begin(), sampled.end());
  sampled.erase(std::unique(sampled.begin(), sampled.end()), sampled.end());
  return sampled;
}

// Checks each sampled query as a sequence with one query and the keys up to its position.
Verification verify_result(const AttentionJob& job) {
  const std::int64_t queries = job.line().queries();
  std::vector<AttentionSequence> sampled;
  for (const std::int64_t query : sampled_queries(queries)) {
    const std::int64_t position = job.line().tokens - queries + query;
    sampled.push_back(
        {.first_query = query, .queries = 1, .keys = position + 1, .query_position = position});
  }
  check::AttendCall call = job.call();
  call.options.sequences = sampled;
  Verification found;
  check::for_each_row(call, job.definition(), [&](const check::CheckedRow& row) {
    const std::vector<double> bounds = row.exact.bounds_by_key(call.out.dtype);
    for (std::size_t f = 0; f < bounds.size(); ++f) {
      // Avoids 0 / 0: a query that sees a single value of 0 has a bound of 0.
      const double off = std::abs(row.computed.out[f] - row.exact.out()[f]);
      found.add(off == 0 ? 0 : off / bounds[f], 1, row.place.token, row.place.head,
                static_cast<std::int64_t>(f));
    }
  });
  return found;
}

Result<Verification> verify(const AttentionJob& job) {
  if (auto status = job.run(1); !status) return std::move(status).error();
  return verify_result(job);
}

}  // namespace rotary::bench
