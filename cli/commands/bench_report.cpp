// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_report.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "cli/json_writer.hpp"

namespace rotary::cli {
namespace {

std::string shape_text(const bench::HeadShape& shape) {
  if (shape.query_heads + shape.key_heads == 0) return {};
  if (shape.query_heads == 0) {
    return fmt::format("; {} key heads x {}", shape.key_heads, shape.head_dim);
  }
  return fmt::format("; {}+{} heads x {}", shape.query_heads, shape.key_heads, shape.head_dim);
}

std::string_view roofline_name(bench::RooflineKind roofline) {
  switch (roofline) {
    case bench::RooflineKind::none:
      return "none";
    case bench::RooflineKind::scale:
      return "scale";
    case bench::RooflineKind::copy:
      return "copy";
  }
  return "none";
}

std::string_view layout_name(bench::Layout layout) {
  return layout == bench::Layout::tokens_first ? "thd" : "htd";
}

std::string_view rows_name(bench::RowsAre rows) {
  return rows == bench::RowsAre::made_in_call ? "made_in_call" : "made_before";
}

std::string_view unit_name(bench::GoalUnit unit) {
  return unit == bench::GoalUnit::ratio ? "ratio" : "ns_per_token";
}

bool has_tensors(const bench::Line& line) { return bench::tensor_bytes(line) > 0; }

double gigabytes_per_second(const BenchLine& line) {
  return static_cast<double>(bench::moved_bytes(line.line)) / line.timing.ns_per_call;
}

// Three digits that count, without an exponent.
std::string number_text(double value) { return fmt::format("{:.{}f}", value, value < 100 ? 1 : 0); }

std::string goal_text(const BenchLine& line) {
  if (!line.goal) return "";
  const bool is_ratio = line.goal->unit == bench::GoalUnit::ratio;
  return fmt::format("{}<= {:<4} {}", is_ratio ? "" : "ns ", line.goal->at_most,
                     line.meets_goal() ? "met" : "MISSED");
}

std::string line_text(const BenchLine& line) {
  const auto ratio = line.timing.ratio();
  const auto roofline = line.timing.roofline_ns_per_call;
  const bool tensors = has_tensors(line.line);
  return fmt::format("  {:>6}  {:<18}{:<5} {:<20}{:>7} {:>7}  {:<5}{:>11} {:>12} {:>12} {:>7.1f}\n",
                     ratio ? fmt::format("{:.2f}", *ratio) : "-", goal_text(line),
                     tensors ? to_string(line.line.dtype) : "-",
                     tensors ? to_string(line.line.pairing) : "-", line.line.threads,
                     line.line.tokens, to_string(line.level), number_text(line.ns_per_token()),
                     number_text(line.timing.ns_per_call), roofline ? number_text(*roofline) : "-",
                     gigabytes_per_second(line));
}

constexpr std::string_view column_titles =
    "   ratio  goal              dtype pairing             threads  tokens  in       ns/token      "
    "ns/call  roofline ns    GB/s\n";

std::string head_text(const BenchReport& report) {
  return setting_text(report.setting) +
         "Each line was verified against the reference, then timed beside its roofline: an "
         "in-place\n"
         "scale, or a copy where the result lies elsewhere, of the same bytes by the same "
         "threads.\n"
         "Minima.\n";
}

// What the line is, without a result.
void write_line(JsonWriter& json, const bench::Line& line) {
  const bench::Operation& operation = *line.operation;
  const bool tensors = has_tensors(line);
  json.member("operation", operation.name);
  json.member("tokens", line.tokens);
  json.member("dtype", tensors ? std::optional(to_string(line.dtype)) : std::nullopt);
  json.member("pairing", tensors ? std::optional(to_string(line.pairing)) : std::nullopt);
  json.member("threads", line.threads);
  json.member("query_heads", operation.shape.query_heads);
  json.member("key_heads", operation.shape.key_heads);
  json.member("head_dim", operation.shape.head_dim);
  json.member("rotary_dim", operation.shape.rotary_dim);
  json.member("layout", layout_name(operation.shape.layout));
  json.member("rows", rows_name(operation.rows));
}

void write_goal(JsonWriter& json, const BenchLine& line) {
  json.key("goal");
  if (!line.goal) return json.null();
  json.begin_object();
  json.member("at_most", line.goal->at_most);
  json.member("unit", unit_name(line.goal->unit));
  json.member("met", line.meets_goal());
  json.end_object();
}

void write_result(JsonWriter& json, const BenchLine& line) {
  json.begin_object();
  write_line(json, line.line);
  json.member("working_set_bytes", bench::working_set_bytes(line.line));
  json.member("memory_level", to_string(line.level));
  json.member("moved_bytes", bench::moved_bytes(line.line));
  json.key("verified");
  json.begin_object();
  json.member("elements", line.verification.elements);
  json.member("largest_error_units", line.verification.worst);
  json.member("bound_units", line.verification.bound);
  json.end_object();
  json.member("clock", bench::to_string(line.timing.clock));
  json.member("rounds", line.timing.rounds);
  json.member("ns_per_call", line.timing.ns_per_call);
  json.member("ns_per_token", line.ns_per_token());
  json.member("gigabytes_per_second", gigabytes_per_second(line));
  json.member("roofline", roofline_name(line.line.operation->roofline));
  json.member("roofline_ns_per_call", line.timing.roofline_ns_per_call);
  json.member("ratio", line.timing.ratio());
  write_goal(json, line);
  json.end_object();
}

}  // namespace

bool BenchLine::meets_goal() const {
  const bool is_ratio = goal->unit == bench::GoalUnit::ratio;
  return (is_ratio ? timing.ratio().value_or(0) : ns_per_token()) <= goal->at_most;
}

std::string bench_text(const BenchReport& report) {
  std::string text = head_text(report);
  const bench::Operation* operation = nullptr;
  int goals = 0;
  int met = 0;
  for (const BenchLine& line : report.lines) {
    if (line.line.operation != operation) {
      operation = line.line.operation;
      text += fmt::format("\n{}: {}{}\n", operation->name, operation->summary,
                          shape_text(operation->shape));
      text += column_titles;
    }
    text += line_text(line);
    goals += line.goal ? 1 : 0;
    met += line.goal && line.meets_goal() ? 1 : 0;
  }
  text += fmt::format("\n{} of {} goals met\n", met, goals);
  for (const SkippedLine& skipped : report.skipped) {
    text +=
        fmt::format("skipped: {}: needs {}, at most {} (--memory)\n", bench::describe(skipped.line),
                    bytes_text(skipped.needed_bytes), bytes_text(report.memory_limit_bytes));
  }
  return text;
}

std::string bench_json(const BenchReport& report) {
  JsonWriter json;
  json.begin_object();
  write_setting(json, report.setting);
  json.key("lines");
  json.begin_array();
  for (const BenchLine& line : report.lines) write_result(json, line);
  json.end_array();
  json.key("skipped");
  json.begin_array();
  for (const SkippedLine& skipped : report.skipped) {
    json.begin_object();
    write_line(json, skipped.line);
    json.member("needed_bytes", skipped.needed_bytes);
    json.member("memory_limit_bytes", report.memory_limit_bytes);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace rotary::cli
