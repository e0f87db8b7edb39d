// SPDX-License-Identifier: Apache-2.0
// What every report of times says of the machine, the build and the moment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/machine.hpp"
#include "cli/json_writer.hpp"

namespace rotary::cli {

struct BenchSetting {
  bench::Machine machine;
  bench::Build build;
  std::string_view instruction_set;
  std::string date;  // UTC, as 2026-01-31T23:59:59Z
  double seconds_per_line = 0;
};

// Here and now. Fails where the machine has no instruction set that kernels are made for.
[[nodiscard]] BenchSetting this_setting(double seconds_per_line);

// "48 KiB", "unknown" where there are none.
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

// Two lines.
[[nodiscard]] std::string setting_text(const BenchSetting& setting);

// The first members of a report, schema_version among them.
void write_setting(JsonWriter& json, const BenchSetting& setting);

}  // namespace rotary::cli
