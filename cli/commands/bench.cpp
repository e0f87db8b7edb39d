// SPDX-License-Identifier: Apache-2.0
// rotary bench: how close the rotation comes to what the memory of this machine allows. Each line
// is verified against the reference before it is timed.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/lines.hpp"
#include "bench/operations/operations.hpp"
#include "bench/progress.hpp"
#include "cli/arguments.hpp"
#include "cli/commands/bench_options.hpp"
#include "cli/commands/bench_report.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "rotary/instruction_set.hpp"

namespace rotary::cli {
namespace {

constexpr std::int64_t most_tokens = std::int64_t{1} << 20;
constexpr std::int64_t most_threads = 1024;

struct Arguments {
  std::optional<std::string> operations;
  std::optional<std::string> tokens;
  std::optional<std::string> dtypes;
  std::optional<std::string> pairings;
  std::optional<std::string> threads;
  std::string seconds = "0.25";
  std::optional<std::string> memory;
  std::optional<std::string> instruction_set;
  ReportOutput output;
  bool full = false;
};

const bench::Operation* parse_operation(std::string_view text) {
  std::vector<std::pair<std::string_view, const bench::Operation*>> choices;
  for (const bench::Operation& operation : bench::operations()) {
    choices.emplace_back(operation.name, &operation);
  }
  return choose("--operations", text, choices);
}

Pairing parse_pairing(std::string_view text) {
  std::vector<std::pair<std::string_view, Pairing>> choices;
  choices.reserve(all_pairings.size());
  for (const Pairing pairing : all_pairings) choices.emplace_back(to_string(pairing), pairing);
  return choose("--pairings", text, choices);
}

bench::Wish wish_of(const Arguments& arguments) {
  return {.set = arguments.full ? bench::LineSet::full : bench::LineSet::usual,
          .operations = parse_list(arguments.operations, parse_operation)
                            .value_or(std::vector<const bench::Operation*>()),
          .tokens = parse_list(arguments.tokens,
                               [](std::string_view text) {
                                 return parse_between("--tokens", text, {1, most_tokens});
                               }),
          .dtypes =
              parse_list(arguments.dtypes,
                         [](std::string_view text) { return parse_timed_dtype("--dtypes", text); }),
          .pairings = parse_list(arguments.pairings, parse_pairing),
          .threads = parse_list(arguments.threads, [](std::string_view text) {
            return parse_between("--threads", text, {1, most_threads});
          })};
}

BenchLine measured(const bench::Line& line, const BenchReport& report) {
  const bench::Measurement measurement =
      value_or_fail(bench::measure(line, report.setting.seconds_per_line), bench::describe(line));
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
  const bench::MemoryLevel level = bench::memory_level(line, report.setting.machine.caches);
  return {.line = line,
          .level = level,
          .verification = found,
          .timing = *measurement.timing,
          .goal = bench::goal_of(line, level)};
}

std::string run_bench(const Arguments& arguments, OutputForm form) {
  const std::vector<bench::Line> lines = bench::lines_of(wish_of(arguments));
  arguments.output.check();
  if (arguments.instruction_set) ok_or_fail(force_instruction_set(*arguments.instruction_set));
  BenchReport report{.setting = this_setting(parse_seconds(arguments.seconds)),
                     .memory_limit_bytes = memory_limit(arguments.memory),
                     .lines = {},
                     .skipped = {}};
  bench::Progress progress("rotary bench", static_cast<std::int64_t>(lines.size()));
  for (const bench::Line& line : lines) {
    if (bench::needed_bytes(line) > report.memory_limit_bytes) {
      report.skipped.push_back({.line = line, .needed_bytes = bench::needed_bytes(line)});
    } else {
      report.lines.push_back(measured(line, report));
    }
    progress.advance();
  }
  arguments.output.write(bench_json(report));
  return form == OutputForm::json ? bench_json(report) : bench_text(report);
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
  parser.add("--seconds S", arguments->seconds, "time for each line (0.25)");
  parser.add("--memory MIB", arguments->memory,
             "most memory for a line's tensors, in MiB; lines that need more are skipped (half "
             "of what is free)");
  parser.add("--instruction-set NAME", arguments->instruction_set,
             "of the kernels, as ROTARY_INSTRUCTION_SET; the roofline takes the best");
  parser.add("--out FILE", arguments->output.out, "write the JSON to this file, too");
  parser.add("--force", arguments->output.force, "replace an output that exists");
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
