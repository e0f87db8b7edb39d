// SPDX-License-Identifier: Apache-2.0
// rotary bench: how close the rotation comes to what the memory of this machine allows. Each line
// is verified against the reference before it is timed.
#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/lines.hpp"
#include "bench/operations/operations.hpp"
#include "bench/progress.hpp"
#include "cli/arguments.hpp"
#include "cli/commands/bench_report.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "rotary/instruction_set.hpp"

namespace rotary::cli {
namespace {

constexpr std::int64_t most_tokens = std::int64_t{1} << 20;
constexpr std::int64_t most_threads = 1024;
constexpr double most_seconds = 60;
constexpr std::int64_t most_memory_mib = std::int64_t{1} << 24;

struct Arguments {
  std::optional<std::string> operations;
  std::optional<std::string> tokens;
  std::optional<std::string> dtypes;
  std::optional<std::string> pairings;
  std::optional<std::string> threads;
  std::string seconds = "0.25";
  std::optional<std::string> memory;
  std::optional<std::string> instruction_set;
  std::optional<std::string> out;
  bool full = false;
  bool force = false;
};

struct Range {
  std::int64_t first;
  std::int64_t last;
};

std::int64_t parse_between(std::string_view option, std::string_view text, const Range& range) {
  const std::int64_t value = parse_int64(option, text);
  if (value < range.first || value > range.last) {
    throw Failure(ExitCode::usage, fmt::format("{} must be in [{}, {}], got {}", option,
                                               range.first, range.last, value));
  }
  return value;
}

// Absent when the option is; parse reads one part between commas.
template <class Parse>
auto parse_list(const std::optional<std::string>& text, Parse parse) {
  std::optional<std::vector<decltype(parse(std::string_view()))>> values;
  if (!text) return values;
  values.emplace();
  for (const std::string_view part : split_at_commas(*text)) values->push_back(parse(part));
  return values;
}

const bench::Operation* parse_operation(std::string_view text) {
  std::vector<std::pair<std::string_view, const bench::Operation*>> choices;
  for (const bench::Operation& operation : bench::operations()) {
    choices.emplace_back(operation.name, &operation);
  }
  return choose("--operations", text, choices);
}

DType parse_dtype(std::string_view text) {
  return choose<DType>("--dtypes", text,
                       {{"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}});
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
          .dtypes = parse_list(arguments.dtypes, parse_dtype),
          .pairings = parse_list(arguments.pairings, parse_pairing),
          .threads = parse_list(arguments.threads, [](std::string_view text) {
            return parse_between("--threads", text, {1, most_threads});
          })};
}

double parse_seconds(const std::string& text) {
  const double seconds = parse_double("--seconds", text);
  if (seconds <= 0 || seconds > most_seconds) {
    throw Failure(ExitCode::usage,
                  fmt::format("--seconds must be in (0, {}], got {}", most_seconds, seconds));
  }
  return seconds;
}

std::int64_t memory_limit(const std::optional<std::string>& text) {
  if (!text) return bench::available_memory_bytes() / 2;
  return parse_between("--memory", *text, {1, most_memory_mib}) << 20;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

BenchLine measured(const bench::Line& line, const BenchReport& report) {
  const bench::Measurement measurement =
      value_or_fail(bench::measure(line, report.seconds_per_line), bench::describe(line));
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
  const bench::MemoryLevel level = bench::memory_level(line, report.machine.caches);
  return {.line = line,
          .level = level,
          .verification = found,
          .timing = *measurement.timing,
          .goal = bench::goal_of(line, level)};
}

void check_output(const Arguments& arguments) {
  if (!arguments.out) return;
  check_outputs(std::span(&*arguments.out, 1),
                arguments.force ? Overwrite::allow : Overwrite::refuse);
}

std::string run_bench(const Arguments& arguments, OutputForm form) {
  const std::vector<bench::Line> lines = bench::lines_of(wish_of(arguments));
  check_output(arguments);
  if (arguments.instruction_set) ok_or_fail(force_instruction_set(*arguments.instruction_set));
  BenchReport report{.machine = bench::this_machine(),
                     .build = bench::this_build(),
                     .instruction_set = value_or_fail(instruction_set()),
                     .date = utc_now(),
                     .seconds_per_line = parse_seconds(arguments.seconds),
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
  if (arguments.out) {
    const OutputFile file{.path = *arguments.out, .bytes = bench_json(report)};
    write_files(std::span(&file, 1), arguments.force ? Overwrite::allow : Overwrite::refuse);
  }
  return form == OutputForm::json ? bench_json(report) : bench_text(report);
}

std::string operation_names() {
  std::string names;
  for (const bench::Operation& operation : bench::operations()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", operation.name);
  }
  return names;
}

Run declare(CLI::App& app) {
  const auto arguments = std::make_shared<Arguments>();
  app.add_option("--operations", arguments->operations,
                 fmt::format("of {}; between commas, as in every list below", operation_names()))
      ->type_name("LIST");
  app.add_option("--tokens", arguments->tokens, "tokens of a call: 1 is a decode step")
      ->type_name("LIST");
  app.add_option("--dtypes", arguments->dtypes, "of f32, bf16, f16")->type_name("LIST");
  app.add_option("--pairings", arguments->pairings, "of half, interleaved, interleaved_to_half")
      ->type_name("LIST");
  app.add_option("--threads", arguments->threads, "numbers of threads, of rotary::threads")
      ->type_name("LIST");
  app.add_flag("--full", arguments->full,
               "every combination of 1 to 32768 tokens, three types, two pairings, one and two "
               "threads: some minutes");
  app.add_option("--seconds", arguments->seconds, "time for each line (0.25)")->type_name("S");
  app.add_option("--memory", arguments->memory,
                 "most memory for a line's tensors, in MiB; lines that need more are skipped (half "
                 "of what is free)")
      ->type_name("MIB");
  app.add_option("--instruction-set", arguments->instruction_set,
                 "of the kernels, as ROTARY_INSTRUCTION_SET; the roofline takes the best")
      ->type_name("NAME");
  app.add_option("--out", arguments->out, "write the JSON to this file, too")->type_name("FILE");
  app.add_flag("--force", arguments->force, "replace an output that exists");
  return [arguments](OutputForm form) { return run_bench(*arguments, form); };
}

}  // namespace

constinit const Command bench_command{
    .name = "bench",
    .summary = "Time the rotation beside what the memory of this machine allows, verified first",
    .examples =
        "  rotary bench\n"
        "  rotary bench --operations rotate --tokens 1,512 --dtypes bf16\n"
        "  rotary bench --full --out bench.json\n"
        "  rotary bench --instruction-set AVX2 --json\n",
    .usage =
        "  rotary bench [--operations LIST] [--tokens LIST] [--dtypes LIST]\n"
        "               [--pairings LIST] [--threads LIST] [--full] [--seconds S]\n"
        "               [--memory MIB] [--instruction-set NAME]\n"
        "               [--out FILE [--force]] [--json]\n",
    .declare = declare,
};

}  // namespace rotary::cli
