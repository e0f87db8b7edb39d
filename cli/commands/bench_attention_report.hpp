// SPDX-License-Identifier: Apache-2.0
// What `rotary bench attention` says, for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "bench/attention/attention_measure.hpp"
#include "cli/commands/bench_setting.hpp"

namespace rotary::cli {

struct AttentionReport {
  BenchSetting setting;
  bench::AttentionShape shape;
  std::vector<bench::GroupMeasurement> groups;
};

[[nodiscard]] std::string attention_text(const AttentionReport& report);
[[nodiscard]] std::string attention_json(const AttentionReport& report);

}  // namespace rotary::cli
