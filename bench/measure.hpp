// SPDX-License-Identifier: Apache-2.0
// Verifies one line of the benchmark, then times it beside its roofline.
#pragma once

#include <cstdint>
#include <optional>

#include "bench/interleave.hpp"
#include "bench/line.hpp"
#include "rotary/result.hpp"

namespace rotary::bench {

struct LineTiming {
  Clock clock = Clock::steady;
  std::int64_t rounds = 0;
  double spread = 1;  // of the rounds (interleave.hpp)
  double ns_per_call = 0;
  std::optional<double> roofline_ns_per_call;  // for the same bytes; absent for RooflineKind::none

  [[nodiscard]] std::optional<double> ratio() const {
    if (!roofline_ns_per_call) return std::nullopt;
    return ns_per_call / *roofline_ns_per_call;
  }
};

struct Measurement {
  Verification verification;
  std::optional<LineTiming> timing;  // absent if the result is wrong
};

// Takes about `seconds`, and at least seven rounds.
[[nodiscard]] Result<Measurement> measure(const Job& job, std::int64_t threads, double seconds);

// Prepares the line with threads of rotary::threads and measures it.
[[nodiscard]] Result<Measurement> measure(const Line& line, double seconds);

}  // namespace rotary::bench
