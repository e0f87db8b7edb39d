// SPDX-License-Identifier: Apache-2.0
// rotary bench: verifies each line (bench/line.hpp) against the reference, then times it. Times
// most lines beside a plain pass over the same bytes.
#include "cli/commands/bench.hpp"

#include <fmt/chrono.h>

#include <ctime>
#include <map>

#include "apps/progress.hpp"
#include "bench/goals.hpp"
#include "bench/lines.hpp"
#include "bench/machine.hpp"
#include "bench/measure.hpp"
#include "bench/operations/operations.hpp"
#include "cli/commands/commands.hpp"
#include "cli/tensor_input.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/version.hpp"

namespace rotary::cli {
namespace {

constexpr std::int64_t most_tokens = std::int64_t{1} << 20;
constexpr std::int64_t most_threads = 1024;
constexpr double most_seconds = 60;
constexpr std::int64_t most_memory_mib = std::int64_t{1} << 24;

// The largest ratio of the median to the fastest round on a quiet machine. Usually it is below
// 1.05.
constexpr double most_quiet_spread = 1.15;

std::string_view text_in(const Json& object, const char* key) {
  return object.at(key).get_ref<const std::string&>();
}

struct Arguments {
  bench::Wish wish;
  BenchOptions common;
};

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
    fail(ExitCode::check_failed,
         "{}: every element must be within its bound, got {} of {} beyond it; the largest error is "
         "{:.4g} units of 2^-24 hypot(pair), at position {}, head {}, feature {}; it was not timed",
         bench::describe(line), found.wrong, found.elements, found.worst, found.worst_position,
         found.worst_head, found.worst_feature);
  }
  const bench::LineTiming& timing = *measurement.timing;
  const bench::MemoryLevel level = bench::memory_level(line, caches);
  const double ns_per_token = timing.ns_per_call / static_cast<double>(line.tokens);
  const auto moved = bench::moved_bytes(line);
  const bench::RooflineKind roofline = line.operation->roofline;
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
               {"roofline", roofline == bench::RooflineKind::none    ? "none"
                            : roofline == bench::RooflineKind::scale ? "scale"
                                                                     : "copy"},
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

// A ratio has two decimals, another float below 100 has one.
std::string cell_text(const std::string& key, const Json& value) {
  if (key == "spread") return noise_text(value);
  if (value.is_null()) return key == "goal" ? "" : "-";
  if (key == "goal")
    return fmt::format("{}<= {:<4} {}", value.at("unit") == "ratio" ? "" : "ns ",
                       value.at("at_most").get<double>(), verdict_text(value));
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number_float()) return dumped(value);
  const auto number = value.get<double>();
  return fmt::format("{:.{}f}", number, key == "ratio" ? 2 : number < 100 ? 1 : 0);
}

std::string lines_text(const std::vector<Json>& lines) {
  const std::array<std::pair<const char*, Column>, 12> table = {{
      {"ratio", {"   ratio"}},
      {"spread", {"noise"}},
      {"goal", left("goal", 16)},
      {"dtype", left("dtype")},
      {"pairing", left("pairing")},
      {"threads", {"threads"}},
      {"tokens", {"tokens"}},
      {"memory_level", left("in")},
      {"ns_per_token", {"ns/token"}},
      {"ns_per_call", {"ns/call"}},
      {"roofline_ns_per_call", {"roofline ns"}},
      {"gigabytes_per_second", {"GB/s"}},
  }};
  std::vector<Column> columns;
  for (const auto& [key, column] : table) columns.push_back(column);
  return text_table(columns, lines.size(), [&](std::size_t row, std::size_t column) {
    return cell_text(table[column].first, lines[row].at(table[column].first));
  });
}

std::string bench_text(const Json& report) {
  std::string text = setting_text(report) +
                     "Each line was verified against the reference, then timed beside its "
                     "roofline: an in-place\n"
                     "scale, or a copy if the result is elsewhere, of the same bytes by the "
                     "same threads.\n"
                     "Minima; noise: how much slower the median round was.\n";
  for (const bench::Operation& operation : bench::operations()) {
    std::vector<Json> lines;
    for (const Json& line : report.at("lines"))
      if (line.at("operation") == operation.name) lines.push_back(line);
    if (lines.empty()) continue;
    text +=
        fmt::format("\n{}: {}{}\n", operation.name, operation.summary, shape_text(operation.shape));
    text += lines_text(lines);
  }
  return text + goals_text(report.at("lines"));
}

std::string run_bench(const Arguments& arguments, OutputForm form) {
  const std::vector<bench::Line> lines = bench::lines_of(arguments.wish);
  const std::int64_t memory_limit = arguments.common.memory_limit();
  Json report = arguments.common.begin_report();
  const bench::Caches caches = bench::this_machine().caches;
  Json timed = Json::array();
  Json skipped = Json::array();
  std::string skipped_text;
  Progress progress("rotary bench", static_cast<std::int64_t>(lines.size()));
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

Value<const bench::Operation*> operation() {
  return {.name = "", .read = [](std::string_view option, std::string_view text) {
            return &choose_by(&bench::Operation::name, option, text, bench::operations());
          }};
}

void declare(OptionParser& parser, Arguments& arguments) {
  bench::Wish& wish = arguments.wish;
  parser.add("--operations LIST", wish.operations, list_of(operation()),
             fmt::format("of {}; commas separate, as in every list below",
                         names_text(bench::operations(), &bench::Operation::name)));
  parser.add("--tokens LIST", wish.tokens, list_of(integer({1, most_tokens})),
             "tokens of a call: 1 is a decode step");
  parser.add("--dtypes LIST", wish.dtypes, list_of(one_of(kernel_dtypes)), "of f32, bf16, f16");
  parser.add(
      "--pairings LIST", wish.pairings, list_of(one_of(all_pairings)),
      fmt::format("of {}", names_text(all_pairings, [](Pairing p) { return to_string(p); })));
  parser.add("--threads LIST", wish.threads, list_of(integer({1, most_threads})),
             "numbers of threads, of rotary::threads");
  parser.add_flag("--full",
                  "every combination of 1 to 32768 tokens, three types, two pairings, one and two "
                  "threads: some minutes",
                  [&wish] { wish.set = bench::LineSet::full; });
  declare_bench_options(parser, arguments.common);
}

}  // namespace

std::int64_t BenchOptions::memory_limit() const {
  return memory_mib ? *memory_mib << 20 : bench::available_memory_bytes() / 2;
}

Json BenchOptions::begin_report() const {
  require(seconds > 0 && seconds <= most_seconds, "--seconds must be in (0, {}], got {}",
          most_seconds, seconds);
  output.check();
  if (instruction_set) ok_or_fail(force_instruction_set(*instruction_set));
  const bench::Machine machine = bench::this_machine();
  const bench::Build build = bench::this_build();
  return {{"schema_version", 1},
          {"date", fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)))},
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
          {"seconds_per_line", seconds}};
}

void declare_bench_options(OptionParser& parser, BenchOptions& options) {
  parser.add("--seconds S", options.seconds, number(),
             "time for each line (0.25), at least seven rounds");
  parser.add("--memory MIB", options.memory_mib, integer({1, most_memory_mib}),
             "most memory for a line's tensors, in MiB; lines that need more are skipped (half "
             "of what is free)");
  parser.add("--instruction-set NAME", options.instruction_set,
             "of the kernels, like ROTARY_INSTRUCTION_SET; the roofline uses the best");
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

std::string noise_text(double spread) { return fmt::format("+{:.0f} %", 100 * (spread - 1)); }

std::string verdict_text(const Json& goal) {
  const auto& verdict = goal.at("verdict").get_ref<const std::string&>();
  return verdict == "missed" ? "MISSED" : verdict;
}

std::string goals_text(const Json& lines) {
  std::map<std::string, int> counts;
  int goals = 0;
  for (const Json& line : lines) {
    if (line.at("goal").is_null()) continue;
    ++goals;
    ++counts[line.at("goal").at("verdict")];
  }
  std::string text = fmt::format("\n{} of {} goals met\n", counts["met"], goals);
  if (counts["busy"] == 0) return text;
  return text + fmt::format(
                    "{} not met on a busy machine (the median round took over {} times the "
                    "fastest), which\nsays nothing: end other work, and run it again\n",
                    counts["busy"], most_quiet_spread);
}

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
    .declare = declared<declare, run_bench>,
    .commands = bench_commands,
};

}  // namespace rotary::cli
