// SPDX-License-Identifier: Apache-2.0
// Verifies several encodings on the same tensors, then times them. Attention without encoding and
// the machine's roofline are timed beside them, on the same number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/attention/attention_line.hpp"
#include "bench/attention/attention_verification.hpp"
#include "bench/interleave.hpp"
#include "rotary/result.hpp"

namespace rotary::bench {

struct AttentionGroup {
  AttentionStep step = AttentionStep::prefill;
  std::int64_t tokens = 0;
  AttentionHeads shape = {};
  std::int64_t threads = 1;
  std::vector<const BenchEncoding*> encodings;  // the first: "none", the baseline
};

struct AttentionMeasurement {
  AttentionLine line;
  Verification verification;
  std::size_t memory_bytes = 0;
  double ns_per_call = 0;
  double ratio = 0;  // time relative to attention without encoding, in the same rounds
};

struct GroupMeasurement {
  std::vector<AttentionMeasurement> lines;
  std::int64_t rounds = 0;  // 0: a result was wrong, so nothing was timed
  double spread = 1;        // of the rounds (interleave.hpp)
  double speedup = 1;       // attention without encoding, over one thread, in the same rounds
  // The speed of all threads together. Prefill: multiply-adds in registers, in operations per ns.
  // Decode: reading keys and values, in bytes per ns.
  double roofline_per_ns = 0;

  // The fraction of the roofline.
  [[nodiscard]] double share(const AttentionMeasurement& line) const;
};

struct GroupBudget {
  double seconds_per_line = 0.25;
  std::function<void(double)> on_progress = {};  // the fraction done since the last call
};

[[nodiscard]] Result<GroupMeasurement> measure(const AttentionGroup& group,
                                               const GroupBudget& budget);

}  // namespace rotary::bench
