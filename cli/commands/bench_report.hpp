// SPDX-License-Identifier: Apache-2.0
// What `rotary bench` says, for people and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/goals.hpp"
#include "bench/line.hpp"
#include "bench/measure.hpp"
#include "cli/commands/bench_setting.hpp"

namespace rotary::cli {

// A line that was verified and timed.
struct BenchLine {
  bench::Line line;
  bench::MemoryLevel level;
  bench::Verification verification;
  bench::LineTiming timing;
  std::optional<bench::Goal> goal;

  [[nodiscard]] double ns_per_token() const {
    return timing.ns_per_call / static_cast<double>(line.tokens);
  }
  [[nodiscard]] bool meets_goal() const;  // requires one
};

// One that would have needed more memory than it may have.
struct SkippedLine {
  bench::Line line;
  std::int64_t needed_bytes = 0;
};

struct BenchReport {
  BenchSetting setting;
  std::int64_t memory_limit_bytes = 0;
  std::vector<BenchLine> lines;
  std::vector<SkippedLine> skipped;
};

[[nodiscard]] std::string bench_text(const BenchReport& report);
[[nodiscard]] std::string bench_json(const BenchReport& report);

}  // namespace rotary::cli
