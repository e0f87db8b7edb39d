// SPDX-License-Identifier: Apache-2.0
// rotary bench attention: what each position encoding costs inside attention, and how close that
// comes to what a core can multiply and read. Verified against the reference before it is timed.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/attention/attention_measure.hpp"
#include "bench/progress.hpp"
#include "cli/commands/bench_attention_report.hpp"
#include "cli/commands/bench_options.hpp"
#include "cli/commands/commands.hpp"
#include "cli/failure.hpp"
#include "rotary/instruction_set.hpp"

namespace rotary::cli {
namespace {

using bench::AttentionGroup;
using bench::AttentionStep;
using bench::BenchEncoding;

constexpr std::int64_t most_tokens = std::int64_t{1} << 16;
constexpr std::int64_t most_keys = std::int64_t{1} << 20;
constexpr std::int64_t most_heads = 1024;
constexpr std::int64_t most_head_dim = 1024;

struct Arguments {
  std::optional<std::string> tokens;
  std::optional<std::string> decode;
  std::string encodings = "none,rope,alibi,t5,kerple_log,fire,sandwich,shaw_keys,shaw";
  std::string heads = "8";
  std::optional<std::string> kv_heads;
  std::string head_dim = "64";
  std::string dtype = "f32";
  std::string seconds = "0.25";
  std::optional<std::string> memory;
  std::optional<std::string> instruction_set;
  ReportOutput output;
};

const BenchEncoding* parse_encoding(std::string_view text) {
  std::vector<std::pair<std::string_view, const BenchEncoding*>> choices;
  for (const BenchEncoding& encoding : bench::bench_encodings())
    choices.emplace_back(encoding.name, &encoding);
  return choose("--encodings", text, choices);
}

// Each once, after no encoding, which all are compared with.
std::vector<const BenchEncoding*> parse_encodings(const std::string& text) {
  std::vector<const BenchEncoding*> encodings = {&bench::bench_encodings().front()};
  for (const std::string_view part : split_at_commas(text)) {
    const BenchEncoding* const encoding = parse_encoding(part);
    if (std::ranges::find(encodings, encoding) == encodings.end()) encodings.push_back(encoding);
  }
  return encodings;
}

bench::AttentionShape parse_shape(const Arguments& arguments) {
  const std::int64_t heads = parse_between("--heads", arguments.heads, {1, most_heads});
  const std::int64_t key_heads =
      arguments.kv_heads ? parse_between("--kv-heads", *arguments.kv_heads, {1, heads}) : heads;
  if (heads % key_heads != 0) {
    throw Failure(ExitCode::usage, fmt::format("--heads must be a multiple of --kv-heads, got {} "
                                               "and {}",
                                               heads, key_heads));
  }
  return {.heads = heads,
          .key_heads = key_heads,
          .head_dim = parse_between("--head-dim", arguments.head_dim, {1, most_head_dim}),
          .dtype = parse_timed_dtype("--dtype", arguments.dtype)};
}

// Where neither --tokens nor --decode is given, the usual sizes of both.
std::vector<AttentionGroup> parse_groups(const Arguments& arguments) {
  const AttentionGroup like{.shape = parse_shape(arguments),
                            .encodings = parse_encodings(arguments.encodings)};
  auto tokens = parse_list(arguments.tokens, [](std::string_view text) {
    return parse_between("--tokens", text, {1, most_tokens});
  });
  auto keys = parse_list(arguments.decode, [](std::string_view text) {
    return parse_between("--decode", text, {1, most_keys});
  });
  if (!tokens && !keys) {
    tokens = {512, 1024, 2048, 4096, 8192};
    keys = {32'768};
  }
  std::vector<AttentionGroup> groups;
  const auto add = [&](AttentionStep step, const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t size : sizes) {
      groups.push_back(like);
      groups.back().step = step;
      groups.back().tokens = size;
    }
  };
  if (tokens) add(AttentionStep::prefill, *tokens);
  if (keys) add(AttentionStep::decode, *keys);
  return groups;
}

bench::AttentionLine line_of(const AttentionGroup& group) {
  return {.encoding = group.encodings.front(),
          .step = group.step,
          .tokens = group.tokens,
          .shape = group.shape};
}

void check_memory(const std::vector<AttentionGroup>& groups, std::int64_t limit) {
  for (const AttentionGroup& group : groups) {
    const std::int64_t needed = bench::needed_bytes(line_of(group));
    if (needed <= limit) continue;
    throw Failure(ExitCode::usage,
                  fmt::format("the tensors and what verifies them must fit in {} MiB (--memory, or "
                              "half of what is free), got {} MiB for {} of {} tokens",
                              limit >> 20, needed >> 20, to_string(group.step), group.tokens));
  }
}

void refuse_wrong(const bench::GroupMeasurement& group) {
  for (const bench::AttentionMeasurement& line : group.lines) {
    const bench::AttentionVerification& found = line.verification;
    if (found.wrong == 0) continue;
    throw Failure(
        ExitCode::check_failed,
        fmt::format("{}: every element must be within its bound, got {} of {} beyond it; the "
                    "largest error is {:.4g} times its bound, at query {}, head {}, feature {}; it "
                    "was not timed",
                    describe(line.line), found.wrong, found.elements, found.worst,
                    found.worst_query, found.worst_head, found.worst_feature));
  }
}

// For the line of progress: a group takes time as its operations do, and the seconds it is given.
std::int64_t parts_of(const AttentionGroup& group, double seconds) {
  const double estimate = bench::operations_of(line_of(group)) / 1e8;  // in 10 ms, seven rounds
  return 1000 + static_cast<std::int64_t>(estimate + 100 * seconds) * 10;
}

std::string run_attention(const Arguments& arguments, OutputForm form) {
  const std::vector<AttentionGroup> groups = parse_groups(arguments);
  check_memory(groups, memory_limit(arguments.memory));
  const double seconds = parse_seconds(arguments.seconds);
  arguments.output.check();
  if (arguments.instruction_set) ok_or_fail(force_instruction_set(*arguments.instruction_set));
  AttentionReport report{
      .setting = this_setting(seconds), .shape = groups.front().shape, .groups = {}};
  std::int64_t total = 0;
  for (const AttentionGroup& group : groups) total += parts_of(group, seconds);
  bench::Progress progress("rotary bench attention", total);
  for (const AttentionGroup& group : groups) {
    const auto parts = static_cast<double>(parts_of(group, seconds));
    auto measured =
        bench::measure(group, {.seconds_per_line = seconds, .on_progress = [&](double share) {
                                 progress.advance(static_cast<std::int64_t>(share * parts));
                               }});
    const std::string subject = fmt::format("{} of {} tokens", to_string(group.step), group.tokens);
    report.groups.push_back(value_or_fail(std::move(measured), subject));
    refuse_wrong(report.groups.back());
  }
  arguments.output.write(attention_json(report));
  return form == OutputForm::json ? attention_json(report) : attention_text(report);
}

std::string encoding_names() {
  std::string names;
  for (const BenchEncoding& encoding : bench::bench_encodings())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", encoding.name);
  return names;
}

void declare_shape(OptionParser& parser, Arguments& arguments) {
  parser.add("--heads N", arguments.heads, "of queries (8)");
  parser.add("--kv-heads N", arguments.kv_heads, "of keys and values (as many)");
  parser.add("--head-dim N", arguments.head_dim, "features of a head (64)");
  parser.add("--dtype f32|bf16|f16", arguments.dtype, "of q, k and v (f32)");
}

Run declare(OptionParser& parser) {
  const auto arguments = std::make_shared<Arguments>();
  parser.add("--tokens LIST", arguments->tokens,
             "prompts of so many tokens, between commas (512,1024,2048,4096,8192)");
  parser.add("--decode LIST", arguments->decode,
             "one query against so many keys (32768); with one of these two options the other "
             "is left out");
  parser.add("--encodings LIST", arguments->encodings,
             fmt::format("of {}; all of them but kerple_power, unless told", encoding_names()));
  declare_shape(parser, *arguments);
  parser.add("--seconds S", arguments->seconds,
             "time for each line (0.25); seven rounds are made in any case");
  parser.add("--memory MIB", arguments->memory,
             "most memory for the tensors and what verifies them, in MiB (half of what is free)");
  parser.add("--instruction-set NAME", arguments->instruction_set,
             "of the kernels, as ROTARY_INSTRUCTION_SET; the peaks take the best");
  parser.add("--out FILE", arguments->output.out, "write the JSON to this file, too");
  parser.add("--force", arguments->output.force, "replace an output that exists");
  return [arguments](OutputForm form) { return run_attention(*arguments, form); };
}

}  // namespace

constinit const Command bench_attention_command{
    .name = "attention",
    .summary = "Time attention with each position encoding inside beside none",
    .examples =
        "  rotary bench attention\n"
        "  rotary bench attention --tokens 2048 --encodings rope,alibi\n"
        "  rotary bench attention --decode 32768 --heads 32 --kv-heads 8 --head-dim 128\n"
        "  rotary bench attention --dtype bf16 --json\n",
    .declare = declare,
};

}  // namespace rotary::cli
