// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_report.hpp"

#include <fmt/format.h>

#include <ctime>
#include <string_view>

#include "bench/machine.hpp"
#include "cli/arguments.hpp"
#include "cli/failure.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/version.hpp"

namespace rotary::cli {
namespace {

constexpr double most_seconds = 60;
constexpr std::int64_t most_memory_mib = std::int64_t{1} << 24;

// A quiet machine's median round is at most some 5 % slower than its fastest.
constexpr double most_quiet_spread = 1.15;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string_view text_in(const Json& object, const char* key) {
  return object.at(key).get_ref<const std::string&>();
}

}  // namespace

std::int64_t BenchOptions::memory_limit() const {
  if (!memory) return bench::available_memory_bytes() / 2;
  return parse_between("--memory", *memory, {1, most_memory_mib}) << 20;
}

Json BenchOptions::begin_report() const {
  const double seconds_per_line = parse_double("--seconds", seconds);
  require(seconds_per_line > 0 && seconds_per_line <= most_seconds,
          "--seconds must be in (0, {}], got {}", most_seconds, seconds_per_line);
  output.check();
  if (instruction_set) ok_or_fail(force_instruction_set(*instruction_set));
  const bench::Machine machine = bench::this_machine();
  const bench::Build build = bench::this_build();
  return {{"schema_version", 1},
          {"date", utc_now()},
          {"build",
           {{"version", ROTARY_VERSION_STRING},
            {"commit", build.commit},
            {"compiler", build.compiler},
            {"flags", build.flags},
            {"type", build.type}}},
          {"machine",
           {{"cpu", machine.cpu},
            {"processors", machine.processors},
            {"l1d_bytes", machine.caches.l1d},
            {"l2_bytes", machine.caches.l2},
            {"l3_bytes", machine.caches.l3}}},
          {"instruction_set", value_or_fail(rotary::instruction_set())},
          {"seconds_per_line", seconds_per_line}};
}

void declare_bench_options(OptionParser& parser, BenchOptions& options) {
  parser.add("--seconds S", options.seconds, "time for each line (0.25), of seven rounds at least");
  parser.add("--memory MIB", options.memory,
             "most memory for a line's tensors, in MiB; lines that need more are skipped (half "
             "of what is free)");
  parser.add("--instruction-set NAME", options.instruction_set,
             "of the kernels, as ROTARY_INSTRUCTION_SET; the roofline takes the best");
  declare_output(parser, options.output, "write the JSON to this file, too");
}

std::string setting_text(const Json& report) {
  const Json& machine = report.at("machine");
  const Json& build = report.at("build");
  const auto cache = [&](const char* key) { return bytes_text(machine.at(key)); };
  return fmt::format(
      "{}, {} processor{}, L1d {}, L2 {}, L3 {}; instruction set {}\n"
      "rotary {}, commit {}, {} {} ({}), {}\n",
      text_in(machine, "cpu"), machine.at("processors").get<int>(),
      machine.at("processors") == 1 ? "" : "s", cache("l1d_bytes"), cache("l2_bytes"),
      cache("l3_bytes"), text_in(report, "instruction_set"), text_in(build, "version"),
      text_in(build, "commit"), text_in(build, "compiler"), text_in(build, "flags"),
      text_in(build, "type"), text_in(report, "date"));
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes <= 0) return "unknown";
  if (bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} KiB", bytes >> 10);
}

Json judged(Json goal, double spread) {
  const bool met = goal.at("met").get<bool>();
  goal["verdict"] = met ? "met" : spread > most_quiet_spread ? "busy" : "missed";
  return goal;
}

std::string verdict_text(const Json& goal) {
  const std::string& verdict = goal.at("verdict").get_ref<const std::string&>();
  return verdict == "missed" ? "MISSED" : verdict;
}

void GoalCount::add(const Json& lines) {
  for (const Json& line : lines) {
    if (line.at("goal").is_null()) continue;
    ++goals;
    met += line.at("goal").at("verdict") == "met" ? 1 : 0;
    busy += line.at("goal").at("verdict") == "busy" ? 1 : 0;
  }
}

std::string GoalCount::text() const {
  std::string text = fmt::format("\n{} of {} goals met\n", met, goals);
  if (busy == 0) return text;
  return text + fmt::format(
                    "{} not met on a busy machine (the median round took over {} times the "
                    "fastest), which\nsays nothing: end other work, and run it again\n",
                    busy, most_quiet_spread);
}

}  // namespace rotary::cli
