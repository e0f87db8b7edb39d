// SPDX-License-Identifier: Apache-2.0
// rotary bench: how close the rotation comes to what the memory of this machine allows. Each line
// is verified against the reference before it is timed.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/goals.hpp"
#include "bench/lines.hpp"
#include "bench/machine.hpp"
#include "bench/measure.hpp"
#include "bench/operations/operations.hpp"
#include "bench/progress.hpp"
#include "cli/arguments.hpp"
#include "cli/commands/bench_report.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/text_table.hpp"

namespace rotary::cli {
namespace {

constexpr std::int64_t most_tokens = std::int64_t{1} << 20;
constexpr std::int64_t most_threads = 1024;

struct Arguments {
  std::optional<std::string> operations, tokens, dtypes, pairings, threads;
  BenchOptions common;
  bool full = false;
};

bench::Wish wish_of(const Arguments& arguments) {
  const auto operation = [](std::string_view text) {
    return &choose_by(&bench::Operation::name, "--operations", text, bench::operations());
  };
  const auto tokens = [](std::string_view text) {
    return parse_between("--tokens", text, {1, most_tokens});
  };
  const auto dtype = [](std::string_view text) { return parse_kernel_dtype("--dtypes", text); };
  const auto pairing = [](std::string_view text) {
    return choose_named("--pairings", text, all_pairings);
  };
  const auto threads = [](std::string_view text) {
    return parse_between("--threads", text, {1, most_threads});
  };
  return {.set = arguments.full ? bench::LineSet::full : bench::LineSet::usual,
          .operations = parse_list(arguments.operations, operation)
                            .value_or(std::vector<const bench::Operation*>()),
          .tokens = parse_list(arguments.tokens, tokens),
          .dtypes = parse_list(arguments.dtypes, dtype),
          .pairings = parse_list(arguments.pairings, pairing),
          .threads = parse_list(arguments.threads, threads)};
}

std::string_view roofline_name(bench::RooflineKind roofline) {
  if (roofline == bench::RooflineKind::none) return "none";
  return roofline == bench::RooflineKind::scale ? "scale" : "copy";
}

// What the line is, without a result.
Json facts_of(const bench::Line& line) {
  const bench::Operation& operation = *line.operation;
  const bench::HeadShape& shape = operation.shape;
  const bool tensors = bench::tensor_bytes(line) > 0;
  const bool made_in_call = operation.rows == bench::RowsAre::made_in_call;
  return {{"operation", operation.name},
          {"tokens", line.tokens},
          {"dtype", tensors ? Json(to_string(line.dtype)) : Json()},
          {"pairing", tensors ? Json(to_string(line.pairing)) : Json()},
          {"threads", line.threads},
          {"query_heads", shape.query_heads},
          {"key_heads", shape.key_heads},
          {"head_dim", shape.head_dim},
          {"rotary_dim", shape.rotary_dim},
          {"layout", shape.layout == bench::Layout::tokens_first ? "thd" : "htd"},
          {"rows", made_in_call ? "made_in_call" : "made_before"}};
}

Json goal_json(const std::optional<bench::Goal>& goal, const bench::LineTiming& timing,
               double ns_per_token) {
  if (!goal) return {};
  const bool is_ratio = goal->unit == bench::GoalUnit::ratio;
  return judged({{"at_most", goal->at_most},
                 {"unit", is_ratio ? "ratio" : "ns_per_token"},
                 {"met", (is_ratio ? timing.ratio().value_or(0) : ns_per_token) <= goal->at_most}},
                timing.spread);
}

Json measured(const bench::Line& line, const bench::Caches& caches, double seconds) {
  const bench::Measurement measurement =
      value_or_fail(bench::measure(line, seconds), bench::describe(line));
  const bench::Verification& found = measurement.verification;
  if (!measurement.timing) {
    throw Failure(
        ExitCode::check_failed,
        fmt::format("{}: every element must be within its bound, got {} of {} beyond it; the "
                    "largest error is {:.4g} units of 2^-24 hypot(pair), at position {}, head {}, "
                    "feature {}; it was not timed",
                    bench::describe(line), found.wrong, found.elements, found.worst,
                    found.worst_position, found.worst_head, found.worst_feature));
  }
  const bench::LineTiming& timing = *measurement.timing;
  const bench::MemoryLevel level = bench::memory_level(line, caches);
  const double ns_per_token = timing.ns_per_call / static_cast<double>(line.tokens);
  const auto moved = bench::moved_bytes(line);
  Json json = facts_of(line);
  json.update({{"working_set_bytes", bench::working_set_bytes(line)},
               {"memory_level", to_string(level)},
               {"moved_bytes", moved},
               {"verified",
                {{"elements", found.elements},
                 {"largest_error_units", found.worst},
                 {"bound_units", found.bound}}},
               {"clock", to_string(timing.clock)},
               {"rounds", timing.rounds},
               {"spread", timing.spread},
               {"ns_per_call", timing.ns_per_call},
               {"ns_per_token", ns_per_token},
               {"gigabytes_per_second", static_cast<double>(moved) / timing.ns_per_call},
               {"roofline", roofline_name(line.operation->roofline)},
               {"roofline_ns_per_call", timing.roofline_ns_per_call},
               {"ratio", timing.ratio()},
               {"goal", goal_json(bench::goal_of(line, level), timing, ns_per_token)}});
  return json;
}

std::string shape_text(const bench::HeadShape& shape) {
  if (shape.query_heads + shape.key_heads == 0) return {};
  const auto queries = shape.query_heads == 0 ? "" : fmt::format("{}+", shape.query_heads);
  return fmt::format("; {}{} {}heads x {}", queries, shape.key_heads,
                     shape.query_heads == 0 ? "key " : "", shape.head_dim);
}

std::string goal_text(const Json& goal) {
  if (goal.is_null()) return "";
  return fmt::format("{}<= {:<4} {}", goal.at("unit") == "ratio" ? "" : "ns ",
                     goal.at("at_most").get<double>(), verdict_text(goal));
}

// Doubles with three digits that count, without an exponent.
std::string cell_text(const std::string& key, const Json& value) {
  if (key == "goal") return goal_text(value);
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return value.dump();
  const auto number = value.get<double>();
  return fmt::format("{:.{}f}", number, key == "ratio" ? 2 : number < 100 ? 1 : 0);
}

std::string lines_text(const std::vector<Json>& lines) {
  using Keys = std::array<const char*, 11>;
  constexpr Keys keys = {"ratio",
                         "goal",
                         "dtype",
                         "pairing",
                         "threads",
                         "tokens",
                         "memory_level",
                         "ns_per_token",
                         "ns_per_call",
                         "roofline_ns_per_call",
                         "gigabytes_per_second"};
  return text_table({{"   ratio"},
                     {"goal", 16, Align::left},
                     {"dtype", 0, Align::left},
                     {"pairing", 0, Align::left},
                     {"threads"},
                     {"tokens"},
                     {"in", 0, Align::left},
                     {"ns/token"},
                     {"ns/call"},
                     {"roofline ns"},
                     {"GB/s"}},
                    lines.size(), [&](std::size_t row, std::size_t column) {
                      return cell_text(keys[column], lines[row].at(keys[column]));
                    });
}

std::string bench_text(const Json& report) {
  std::string text = setting_text(report) +
                     "Each line was verified against the reference, then timed beside its "
                     "roofline: an in-place\n"
                     "scale, or a copy where the result lies elsewhere, of the same bytes by the "
                     "same threads.\n"
                     "Minima.\n";
  for (const bench::Operation& operation : bench::operations()) {
    std::vector<Json> lines;
    for (const Json& line : report.at("lines"))
      if (line.at("operation") == operation.name) lines.push_back(line);
    if (lines.empty()) continue;
    text +=
        fmt::format("\n{}: {}{}\n", operation.name, operation.summary, shape_text(operation.shape));
    text += lines_text(lines);
  }
  GoalCount count;
  count.add(report.at("lines"));
  return text + count.text();
}

std::string run_bench(const Arguments& arguments, OutputForm form) {
  const std::vector<bench::Line> lines = bench::lines_of(wish_of(arguments));
  const std::int64_t memory_limit = arguments.common.memory_limit();
  Json report = arguments.common.begin_report();
  const bench::Caches caches = bench::this_machine().caches;
  Json timed = Json::array();
  Json skipped = Json::array();
  std::string skipped_text;
  bench::Progress progress("rotary bench", static_cast<std::int64_t>(lines.size()));
  for (const bench::Line& line : lines) {
    const std::int64_t needed = bench::needed_bytes(line);
    if (needed <= memory_limit) {
      timed.push_back(measured(line, caches, report.at("seconds_per_line")));
    } else {
      skipped.push_back(facts_of(line));
      skipped.back().update({{"needed_bytes", needed}, {"memory_limit_bytes", memory_limit}});
      skipped_text +=
          fmt::format("skipped: {}: needs {}, at most {} (--memory)\n", bench::describe(line),
                      bytes_text(needed), bytes_text(memory_limit));
    }
    progress.advance();
  }
  report["lines"] = std::move(timed);
  report["skipped"] = std::move(skipped);
  arguments.common.output.write(printed(report));
  return form == OutputForm::json ? printed(report) : bench_text(report) + skipped_text;
}

std::string operation_names() {
  std::string names;
  for (const bench::Operation& operation : bench::operations()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", operation.name);
  }
  return names;
}

Run declare(OptionParser& parser) {
  const auto arguments = std::make_shared<Arguments>();
  parser.add("--operations LIST", arguments->operations,
             fmt::format("of {}; between commas, as in every list below", operation_names()));
  parser.add("--tokens LIST", arguments->tokens, "tokens of a call: 1 is a decode step");
  parser.add("--dtypes LIST", arguments->dtypes, "of f32, bf16, f16");
  parser.add("--pairings LIST", arguments->pairings, "of half, interleaved, interleaved_to_half");
  parser.add("--threads LIST", arguments->threads, "numbers of threads, of rotary::threads");
  parser.add("--full", arguments->full,
             "every combination of 1 to 32768 tokens, three types, two pairings, one and two "
             "threads: some minutes");
  declare_bench_options(parser, arguments->common);
  return [arguments](OutputForm form) { return run_bench(*arguments, form); };
}

}  // namespace

constinit const std::array<const Command*, 1> bench_commands = {&bench_attention_command};

constinit const Command bench_command{
    .name = "bench",
    .summary = "Time the rotation beside what this machine's memory allows",
    .examples =
        "  rotary bench\n"
        "  rotary bench --operations rotate --tokens 1,512 --dtypes bf16\n"
        "  rotary bench --full --out bench.json\n"
        "  rotary bench --instruction-set AVX2 --json\n"
        "  rotary bench attention\n",
    .declare = declare,
    .commands = bench_commands,
};

}  // namespace rotary::cli
