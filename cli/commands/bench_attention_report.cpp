// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_attention_report.hpp"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

namespace rotary::cli {
namespace {

using bench::AttentionGoal;
using bench::AttentionGoalUnit;
using bench::AttentionMeasurement;
using bench::AttentionStep;
using bench::GroupMeasurement;

bool meets(const AttentionGoal& goal, const GroupMeasurement& group,
           const AttentionMeasurement& line) {
  return goal.unit == AttentionGoalUnit::ratio ? line.ratio <= goal.limit
                                               : group.share(line) >= goal.limit;
}

std::string goal_text(const GroupMeasurement& group, const AttentionMeasurement& line) {
  const auto goal = bench::goal_of(line.line);
  if (!goal) return "";
  const bool is_ratio = goal->unit == AttentionGoalUnit::ratio;
  return fmt::format(
      "{} {}",
      is_ratio ? fmt::format("<= {}", goal->limit) : fmt::format(">= {:.0f} %", 100 * goal->limit),
      meets(*goal, group, line) ? "met" : "MISSED");
}

// Of operations or bytes: both are 10^9 in a second where they are one in a nanosecond.
double rate(const GroupMeasurement& group, const AttentionMeasurement& line) {
  return group.share(line) * group.roofline_per_ns;
}

// "212 KiB", "1.5 GiB": three digits that count.
std::string memory_text(double bytes) {
  std::string_view unit = "KiB";
  double value = bytes / 1024;
  for (const std::string_view larger : {"MiB", "GiB"}) {
    if (value < 1000) break;
    value /= 1024;
    unit = larger;
  }
  return fmt::format("{:.{}f} {}", value, value < 10 ? 1 : 0, unit);
}

std::string line_text(const GroupMeasurement& group, const AttentionMeasurement& line) {
  return fmt::format("  {:<14}{:>6.3f}  {:<15}{:>12.3f} {:>8.1f} {:>5.0f} %  {:>9}  {:>9}\n",
                     line.line.encoding->name, line.ratio, goal_text(group, line),
                     line.ns_per_call / 1e6, rate(group, line), 100 * group.share(line),
                     memory_text(static_cast<double>(line.memory_bytes)),
                     memory_text(static_cast<double>(bench::scores_bytes(line.line))));
}

std::string group_text(const GroupMeasurement& group) {
  const bench::AttentionLine& line = group.lines.front().line;
  const bool is_prefill = line.step == AttentionStep::prefill;
  std::string text =
      is_prefill ? fmt::format("\nprefill of {} tokens; multiply-adds in registers: {:.1f} GF/s\n",
                               line.tokens, group.roofline_per_ns)
                 : fmt::format("\ndecode, one query and {} keys; reading k and v: {:.1f} GB/s\n",
                               line.tokens, group.roofline_per_ns);
  text += fmt::format("  {:<14}{:>6}  {:<15}{:>12} {:>8} {:>7}  {:>9}  {:>9}\n", "encoding",
                      "ratio", "goal", "ms", is_prefill ? "GF/s" : "GB/s",
                      is_prefill ? "of peak" : "of read", "memory", "scores");
  for (const AttentionMeasurement& each : group.lines) text += line_text(group, each);
  return text;
}

void write_goal(JsonWriter& json, const GroupMeasurement& group, const AttentionMeasurement& line) {
  json.key("goal");
  const auto goal = bench::goal_of(line.line);
  if (!goal) {
    json.null();
    return;
  }
  json.begin_object();
  json.member("unit",
              std::string_view(goal->unit == AttentionGoalUnit::ratio ? "ratio" : "of_roofline"));
  json.member("limit", goal->limit);
  json.member("met", meets(*goal, group, line));
  json.end_object();
}

void write_line(JsonWriter& json, const GroupMeasurement& group, const AttentionMeasurement& line) {
  json.begin_object();
  json.member("encoding", line.line.encoding->name);
  json.key("verified");
  json.begin_object();
  json.member("elements", line.verification.elements);
  json.member("largest_error_of_bound", line.verification.worst);
  json.end_object();
  json.member("ns_per_call", line.ns_per_call);
  json.member("ratio", line.ratio);
  json.member("of_roofline", group.share(line));
  json.member("memory_bytes", line.memory_bytes);
  write_goal(json, group, line);
  json.end_object();
}

void write_group(JsonWriter& json, const GroupMeasurement& group) {
  const bench::AttentionLine& line = group.lines.front().line;
  json.begin_object();
  json.member("step", to_string(line.step));
  json.member("queries", line.queries());
  json.member("keys", line.tokens);
  json.member("operations", bench::operations_of(line));
  json.member("cache_bytes", bench::cache_bytes(line));
  json.member("scores_bytes", bench::scores_bytes(line));
  json.member("clock", to_string(bench::Clock::thread_cpu));
  json.member("rounds", group.rounds);
  json.member("roofline",
              std::string_view(line.step == AttentionStep::prefill ? "multiply_add" : "read"));
  json.member("roofline_per_ns", group.roofline_per_ns);
  json.key("lines");
  json.begin_array();
  for (const AttentionMeasurement& each : group.lines) write_line(json, group, each);
  json.end_array();
  json.end_object();
}

}  // namespace

std::string attention_text(const AttentionReport& report) {
  const bench::AttentionShape& shape = report.shape;
  std::string text = setting_text(report.setting);
  text += fmt::format(
      "Causal attention, one thread, {} query and {} key heads x {}, {}, [heads, tokens, "
      "features].\n"
      "Sampled rows of each line were held against the reference; then all lines of a size were\n"
      "timed in turn, there and back. Minima. ratio: to no encoding. memory: what a call works "
      "in;\n"
      "scores: what the scores of all pairs would take in float32.\n",
      shape.heads, shape.key_heads, shape.head_dim, to_string(shape.dtype));
  int goals = 0;
  int met = 0;
  for (const GroupMeasurement& group : report.groups) {
    text += group_text(group);
    for (const AttentionMeasurement& line : group.lines) {
      const auto goal = bench::goal_of(line.line);
      if (!goal) continue;
      ++goals;
      met += meets(*goal, group, line) ? 1 : 0;
    }
  }
  return text + fmt::format("\n{} of {} goals met\n", met, goals);
}

std::string attention_json(const AttentionReport& report) {
  JsonWriter json;
  json.begin_object();
  write_setting(json, report.setting);
  json.member("dtype", to_string(report.shape.dtype));
  json.member("query_heads", report.shape.heads);
  json.member("key_heads", report.shape.key_heads);
  json.member("head_dim", report.shape.head_dim);
  json.key("groups");
  json.begin_array();
  for (const GroupMeasurement& group : report.groups) write_group(json, group);
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace rotary::cli
