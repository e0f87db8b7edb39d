// SPDX-License-Identifier: Apache-2.0
// rotary bench attention: verifies each position encoding inside attention against the reference,
// then times it beside pure multiply-adds or reads on the same number of threads.
#include "apps/progress.hpp"
#include "bench/attention/attention_measure.hpp"
#include "cli/commands/bench.hpp"
#include "cli/commands/commands.hpp"
#include "cli/tensor_input.hpp"
#include "rotary/instruction_set.hpp"

namespace rotary::cli {
namespace bench_attention_call {
namespace {

using bench::AttentionGroup;
using bench::AttentionMeasurement;
using bench::AttentionStep;
using bench::BenchEncoding;
using bench::GroupMeasurement;

constexpr std::int64_t most_tokens = std::int64_t{1} << 16;
constexpr std::int64_t most_keys = std::int64_t{1} << 20;
constexpr std::int64_t most_heads = 1024;
constexpr std::int64_t most_threads = 1024;
constexpr std::int64_t most_head_dim = 1024;

Value<std::vector<const BenchEncoding*>> encoding_list() {
  return list_of(Value<const BenchEncoding*>{
      "", [](std::string_view option, std::string_view text) {
        return &choose_by(&BenchEncoding::name, option, text, bench::bench_encodings());
      }});
}

struct Arguments {
  std::optional<std::vector<std::int64_t>> tokens, decode;
  std::vector<const BenchEncoding*> encodings = encoding_list().read(
      "--encodings", "none,rope,alibi,t5,kerple_log,fire,sandwich,shaw_keys,shaw");
  std::int64_t heads = 8;
  std::optional<std::int64_t> kv_heads;
  std::int64_t head_dim = 64;
  DType dtype = DType::f32;
  std::vector<std::int64_t> threads = {1};
  BenchOptions common;
};

// Without --tokens and --decode, uses the usual sizes of prefill and decode.
std::vector<AttentionGroup> groups_of(const Arguments& arguments) {
  const std::int64_t heads = arguments.heads;
  const std::int64_t key_heads = arguments.kv_heads.value_or(heads);
  require(key_heads <= heads, "--kv-heads must be in [1, {}], got {}", heads, key_heads);
  require(heads % key_heads == 0, "--heads must be a multiple of --kv-heads, got {} and {}", heads,
          key_heads);
  AttentionGroup like{.shape = {.heads = heads,
                                .key_heads = key_heads,
                                .head_dim = arguments.head_dim,
                                .dtype = arguments.dtype},
                      .encodings = {&bench::bench_encodings().front()}};
  // Each encoding once. The first is "none", the baseline.
  for (const BenchEncoding* const encoding : arguments.encodings)
    if (std::ranges::find(like.encodings, encoding) == like.encodings.end())
      like.encodings.push_back(encoding);
  auto tokens = arguments.tokens;
  auto keys = arguments.decode;
  if (!tokens && !keys) {
    tokens = {512, 1024, 2048, 4096, 8192};
    keys = {32'768};
  }
  std::vector<AttentionGroup> groups;
  const auto add = [&](AttentionStep step, const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t size : sizes) {
      for (const std::int64_t count : arguments.threads) {
        groups.push_back(like);
        groups.back().step = step;
        groups.back().tokens = size;
        groups.back().threads = count;
      }
    }
  };
  if (tokens) add(AttentionStep::prefill, *tokens);
  if (keys) add(AttentionStep::decode, *keys);
  return groups;
}

bench::AttentionLine line_of(const AttentionGroup& group, std::size_t encoding = 0) {
  return {.encoding = group.encodings[encoding],
          .step = group.step,
          .tokens = group.tokens,
          .shape = group.shape,
          .threads = group.threads};
}

void check_memory(const std::vector<AttentionGroup>& groups, std::int64_t limit) {
  for (const AttentionGroup& group : groups) {
    std::int64_t needed = 0;
    for (std::size_t encoding = 0; encoding < group.encodings.size(); ++encoding)
      needed = std::max(needed, bench::needed_bytes(line_of(group, encoding)));
    require(needed <= limit,
            "the tensors and what verifies them must fit in {} MiB (--memory, or half of what is "
            "free), got {} MiB for {} of {} tokens",
            limit >> 20, needed >> 20, to_string(group.step), group.tokens);
  }
}

Json goal_json(const GroupMeasurement& group, const AttentionMeasurement& line) {
  const auto goal = bench::goal_of(line.line);
  if (!goal) return {};
  const auto judge = [&](std::string_view unit, bool met) {
    return judged({{"unit", unit}, {"limit", goal->limit}, {"met", met}}, group.spread);
  };
  switch (goal->unit) {
    case bench::AttentionGoalUnit::ratio:
      return judge("ratio", line.ratio <= goal->limit);
    case bench::AttentionGoalUnit::share:
      return judge("of_roofline", group.share(line) >= goal->limit);
    case bench::AttentionGoalUnit::speedup:
      break;
  }
  return judge("speedup", group.speedup >= goal->limit);
}

Json group_json(const GroupMeasurement& group) {
  const bench::AttentionLine& like = group.lines.front().line;
  const auto line_json = [&](const AttentionMeasurement& line) -> Json {
    return {{"encoding", line.line.encoding->name},
            {"verified",
             {{"elements", line.verification.elements},
              {"largest_error_of_bound", line.verification.worst}}},
            {"ns_per_call", line.ns_per_call},
            {"ratio", line.ratio},
            {"of_roofline", group.share(line)},
            {"memory_bytes", line.memory_bytes},
            {"goal", goal_json(group, line)}};
  };
  return {{"step", to_string(like.step)},
          {"queries", like.queries()},
          {"keys", like.tokens},
          {"threads", like.threads},
          {"operations", bench::operations_of(like)},
          {"cache_bytes", bench::cache_bytes(like)},
          {"scores_bytes", bench::scores_bytes(like)},
          {"clock", to_string(bench::clock_of(like.threads))},
          {"rounds", group.rounds},
          {"spread", group.spread},
          {"speedup", group.speedup},
          {"roofline", like.step == AttentionStep::prefill ? "multiply_add" : "read"},
          {"roofline_per_ns", group.roofline_per_ns},
          {"lines", json_array(group.lines, line_json)}};
}

std::string goal_text(const Json& goal) {
  if (goal.is_null()) return "";
  const auto limit = goal.at("limit").get<double>();
  const auto unit = goal.at("unit").get<std::string>();
  std::string text = fmt::format("<= {}", limit);
  if (unit == "of_roofline") text = fmt::format(">= {:.0f} %", 100 * limit);
  if (unit == "speedup") text = fmt::format(">= {:.1f} x", limit);
  return text + " " + verdict_text(goal);
}

// "212 KiB", "1.5 GiB".
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

std::string group_text(const Json& group) {
  const bool is_prefill = group.at("step") == "prefill";
  const auto peak = group.at("roofline_per_ns").get<double>();  // per ns, so 10^9 per second
  const auto keys = group.at("keys").get<std::int64_t>();
  const auto count = group.at("threads").get<std::int64_t>();
  const std::string threads = count == 1 ? "one thread"
                                         : fmt::format("{} threads, {:.2f} times as fast as one",
                                                       count, group.at("speedup").get<double>());
  const std::string noise = noise_text(group.at("spread"));
  const std::string title =
      is_prefill ? fmt::format(
                       "\nprefill of {} tokens, {}; multiply-adds in registers: {:.1f} GF/s; "
                       "noise {}\n",
                       keys, threads, peak, noise)
                 : fmt::format(
                       "\ndecode, one query and {} keys, {}; reading k and v: {:.1f} GB/s; "
                       "noise {}\n",
                       keys, threads, peak, noise);
  std::vector<TextRow> rows;
  for (const Json& line : group.at("lines")) {
    const auto share = line.at("of_roofline").get<double>();
    rows.push_back({"  " + line.at("encoding").get<std::string>(),
                    fmt::format("{:.3f}", line.at("ratio").get<double>()),
                    goal_text(line.at("goal")),
                    fmt::format("{:.3f}", line.at("ns_per_call").get<double>() / 1e6),
                    fmt::format("{:.1f}", share * peak), fmt::format("{:.0f} %", 100 * share),
                    memory_text(line.at("memory_bytes")), memory_text(group.at("scores_bytes"))});
  }
  return title + text_table({left("  encoding", 14),
                             {"ratio"},
                             left("goal", 15),
                             {"ms", 12},
                             {is_prefill ? "GF/s" : "GB/s"},
                             {is_prefill ? "of peak" : "of read"},
                             {"memory", 8},
                             {"scores", 8}},
                            rows);
}

std::string report_text(const Json& report, const bench::AttentionHeads& shape) {
  std::string text = setting_text(report);
  text += fmt::format("decode steps prefetch keys by {} (ROTARY_KEY_FETCHING)\n",
                      report.at("key_fetching").get<std::string>());
  text += fmt::format(
      "Causal attention, {} query and {} key heads x {}, {}, [heads, tokens, features].\n"
      "Sampled rows of each line were compared with the reference. Then all lines of a size were\n"
      "timed in turn, there and back. Minima; noise: how much slower the median round was.\n"
      "ratio: to no encoding. memory: what a call works in; scores: what the scores of all pairs\n"
      "would take in float32.\n",
      shape.heads, shape.key_heads, shape.head_dim, to_string(shape.dtype));
  Json lines = Json::array();
  for (const Json& group : report.at("groups")) {
    text += group_text(group);
    lines.insert(lines.end(), group.at("lines").begin(), group.at("lines").end());
  }
  return text + goals_text(lines);
}

// The group's weight in the progress line, from its estimated time.
std::int64_t parts_of(const AttentionGroup& group, double seconds) {
  const double estimate = bench::operations_of(line_of(group)) / 1e8;  // 10 ms units, seven rounds
  return 1000 + static_cast<std::int64_t>(estimate + 100 * seconds) * 10;
}

// Measures all groups and returns the member "groups".
Json measured(const std::vector<AttentionGroup>& groups, double seconds) {
  std::int64_t total = 0;
  for (const AttentionGroup& group : groups) total += parts_of(group, seconds);
  Progress progress("rotary bench attention", total);
  return json_array(groups, [&](const AttentionGroup& group) {
    const auto parts = static_cast<double>(parts_of(group, seconds));
    auto measurement =
        bench::measure(group, {.seconds_per_line = seconds, .on_progress = [&](double share) {
                                 progress.advance(static_cast<std::int64_t>(share * parts));
                               }});
    const std::string subject = fmt::format("{} of {} tokens", to_string(group.step), group.tokens);
    const GroupMeasurement found = value_or_fail(std::move(measurement), subject);
    for (const AttentionMeasurement& line : found.lines) {
      const bench::Verification& errors = line.verification;
      if (errors.wrong == 0) continue;
      fail(ExitCode::check_failed,
           "{}: every element must be within its bound, got {} of {} beyond it; the largest error "
           "is "
           "{:.4g} times its bound, at query {}, head {}, feature {}; it was not timed",
           describe(line.line), errors.wrong, errors.elements, errors.worst, errors.worst_position,
           errors.worst_head, errors.worst_feature);
    }
    return group_json(found);
  });
}

std::string run_attention(const Arguments& arguments, OutputForm form) {
  const std::vector<AttentionGroup> groups = groups_of(arguments);
  check_memory(groups, arguments.common.memory_limit());
  Json report = arguments.common.begin_report();
  const bench::AttentionHeads& shape = groups.front().shape;
  report.update({{"dtype", to_string(shape.dtype)},
                 {"query_heads", shape.heads},
                 {"key_heads", shape.key_heads},
                 {"head_dim", shape.head_dim},
                 {"key_fetching", value_or_fail(key_fetching())}});
  report["groups"] = measured(groups, report.at("seconds_per_line"));
  arguments.common.output.write(printed(report));
  return form == OutputForm::json ? printed(report) : report_text(report, shape);
}

void declare(OptionParser& parser, Arguments& arguments) {
  parser.add("--tokens LIST", arguments.tokens, list_of(integer({1, most_tokens})),
             "numbers of tokens of the prompts, between commas (512,1024,2048,4096,8192)");
  parser.add("--decode LIST", arguments.decode, list_of(integer({1, most_keys})),
             "numbers of keys for one query (32768); with one of these two options the other "
             "is left out");
  parser.add("--encodings LIST", arguments.encodings, encoding_list(),
             fmt::format("of {}; int8: no encoding, over an 8-bit cache (all but "
                         "kerple_power and int8)",
                         names_text(bench::bench_encodings(), &BenchEncoding::name)));
  parser.add("--heads N", arguments.heads, integer({1, most_heads}), "of queries (8)");
  parser.add("--kv-heads N", arguments.kv_heads, integer({1, most_heads}),
             "of keys and values (as of queries)");
  parser.add("--head-dim N", arguments.head_dim, integer({1, most_head_dim}),
             "features of a head (64)");
  parser.add("--dtype", arguments.dtype, one_of(kernel_dtypes), "of q, k and v (f32)");
  parser.add("--threads LIST", arguments.threads, list_of(integer({1, most_threads})),
             "numbers of threads, of rotary::threads, between commas; several are also compared "
             "with one (1)");
  declare_bench_options(parser, arguments.common);
  parser.replace_help("--memory",
                      "most memory for the tensors and what verifies them, in MiB (half of what "
                      "is free)");
}

}  // namespace
}  // namespace bench_attention_call

constinit const Command bench_attention_command{
    .name = "attention",
    .summary = "Time attention with each position encoding, compared with none",
    .examples =
        "  rotary bench attention\n"
        "  rotary bench attention --tokens 2048 --encodings rope,alibi\n"
        "  rotary bench attention --decode 32768 --heads 32 --kv-heads 8 --head-dim 128\n"
        "  rotary bench attention --decode 32768 --encodings int8\n"
        "  rotary bench attention --tokens 2048 --encodings none --threads 1,2\n"
        "  rotary bench attention --dtype bf16 --json\n",
    .declare = declared<bench_attention_call::declare, bench_attention_call::run_attention>,
};

}  // namespace rotary::cli
