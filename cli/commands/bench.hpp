// SPDX-License-Identifier: Apache-2.0
// Options and reports of bench commands. The text of a report is made from its JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/json.hpp"
#include "cli/option_parser.hpp"
#include "cli/shared_options.hpp"

namespace rotary::cli {

struct BenchOptions {
  double seconds = 0.25;
  std::optional<std::int64_t> memory_mib;
  std::optional<std::string> instruction_set;
  OutputOption output;

  // The limit in bytes; without --memory half of the free memory.
  [[nodiscard]] std::int64_t memory_limit() const;

  // Checks the options and returns the first members of a report: machine, build, time.
  [[nodiscard]] Json begin_report() const;
};

// --seconds, --memory, --instruction-set, --out and --force.
void declare_bench_options(OptionParser& parser, BenchOptions& options);

// The machine and the build of a report, in two lines.
[[nodiscard]] std::string setting_text(const Json& report);

// "48 KiB", or "unknown" if there is no number.
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

// Adds the member "verdict": "met", "missed", or "busy" if rounds differ so much that other work
// must have shared the machine.
[[nodiscard]] Json judged(Json goal, double spread);

// "+4 %": the median round against the fastest.
[[nodiscard]] std::string noise_text(double spread);

// "met", "MISSED", "busy".
[[nodiscard]] std::string verdict_text(const Json& goal);

// "3 of 4 goals met", over the lines that have a goal.
[[nodiscard]] std::string goals_text(const Json& lines);

}  // namespace rotary::cli
