// SPDX-License-Identifier: Apache-2.0
// Times the rotation beside the roofline. Rounds interleave the two, and the minimum of each
// counts: on a shared machine every disturbance makes a round slower, never faster.
#pragma once

#include <cstdint>

#include "bench/start/workload.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/result.hpp"

namespace rotary::bench {

// Nanoseconds for each token, one thread.
struct Timing {
  std::int64_t tokens = 0;
  double rows_ns = 0;    // remake_rotations, as a step does
  double rotate_ns = 0;  // rotate_qk in place
  double both_ns = 0;    // the two in one round
  double scale_ns = 0;   // in-place scale of the same bytes

  [[nodiscard]] double ratio() const { return both_ns / scale_ns; }
};

// Changes the workload's values, not their norms (for an attention factor of 1).
[[nodiscard]] Result<Timing> measure(const Workload& workload, const Frequencies& frequencies,
                                     std::int64_t tokens);

}  // namespace rotary::bench
