// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_setting.hpp"

#include <fmt/format.h>

#include <ctime>

#include "cli/failure.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/version.hpp"

namespace rotary::cli {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

void write_build(JsonWriter& json, const bench::Build& build) {
  json.key("build");
  json.begin_object();
  json.member("version", std::string_view(ROTARY_VERSION_STRING));
  json.member("commit", build.commit);
  json.member("compiler", build.compiler);
  json.member("flags", build.flags);
  json.member("type", build.type);
  json.end_object();
}

void write_machine(JsonWriter& json, const bench::Machine& machine) {
  json.key("machine");
  json.begin_object();
  json.member("cpu", std::string_view(machine.cpu));
  json.member("processors", machine.processors);
  json.member("l1d_bytes", machine.caches.l1d);
  json.member("l2_bytes", machine.caches.l2);
  json.member("l3_bytes", machine.caches.l3);
  json.end_object();
}

}  // namespace

BenchSetting this_setting(double seconds_per_line) {
  return {.machine = bench::this_machine(),
          .build = bench::this_build(),
          .instruction_set = value_or_fail(instruction_set()),
          .date = utc_now(),
          .seconds_per_line = seconds_per_line};
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes <= 0) return "unknown";
  if (bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} KiB", bytes >> 10);
}

std::string setting_text(const BenchSetting& setting) {
  const bench::Caches& caches = setting.machine.caches;
  return fmt::format(
      "{}, {} processor{}, L1d {}, L2 {}, L3 {}; instruction set {}\n"
      "rotary {}, commit {}, {} {} ({}), {}\n",
      setting.machine.cpu, setting.machine.processors, setting.machine.processors == 1 ? "" : "s",
      bytes_text(caches.l1d), bytes_text(caches.l2), bytes_text(caches.l3), setting.instruction_set,
      ROTARY_VERSION_STRING, setting.build.commit, setting.build.compiler, setting.build.flags,
      setting.build.type, setting.date);
}

void write_setting(JsonWriter& json, const BenchSetting& setting) {
  json.member("schema_version", 1);
  json.member("date", std::string_view(setting.date));
  write_build(json, setting.build);
  write_machine(json, setting.machine);
  json.member("instruction_set", setting.instruction_set);
  json.member("seconds_per_line", setting.seconds_per_line);
}

}  // namespace rotary::cli
