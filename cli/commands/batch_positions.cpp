// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/batch_positions.hpp"

#include <numeric>

#include "cli/identify/arrays.hpp"
#include "rotary/axis_positions.hpp"

namespace rotary::cli {
namespace {

using Numbers = std::vector<std::int64_t>;

// The ids of one call of a model, for a padded batch or for packed sequences.
struct Call {
  std::int64_t rows = 1;
  Numbers lengths;  // tokens of each sequence; empty for a padded batch
  Numbers real;     // real tokens of each row of a padded batch
  Numbers ids;
};

// Adjacent tokens whose ids rise by 1.
struct Run {
  std::string name;
  std::int64_t token, id, count;
};

PaddingMask mask_of(const IntegerArray& file) {
  require(file.shape.size() == 2, "--mask must have the shape [batch, tokens], got {}",
          shape_text(file.shape));
  return {file.numbers, file.shape[0]};
}

std::vector<Call> calls_of(const BatchOptions& options, const OutputOption& output) {
  if (options.mask) {
    require(options.past.size() <= 1, "--past must be one number beside --mask, got {}",
            options.past.size());
    IntegerArray file = read_integers("--mask", *options.mask);
    const PaddingMask mask = mask_of(file);
    check_printed_tokens(std::ssize(file.numbers), output);
    const std::int64_t past = options.past.empty() ? 0 : options.past.front();
    Numbers ids = value_or_fail(padded_positions(mask, past));
    Numbers real;
    for (std::size_t i = 0; i < file.numbers.size(); ++i)
      if (static_cast<std::int64_t>(i) % file.shape[1] >= past) real.push_back(file.numbers[i]);
    return {{mask.batch, {}, std::move(real), std::move(ids)}};
  }
  const std::int64_t longest = std::max<std::int64_t>(1, std::ranges::max(options.lengths));
  const std::int64_t chunk = options.chunk.value_or(longest);
  check_printed_tokens(
      std::accumulate(options.lengths.begin(), options.lengths.end(), std::int64_t{0}), output);
  check_printed_tokens((longest + chunk - 1) / chunk * std::ssize(options.lengths), output);
  std::vector<Call> calls;
  for (std::int64_t first = 0; first < longest; first += chunk) {
    Numbers past = options.past.empty() ? Numbers{0} : options.past;
    for (std::int64_t& each : past) each += first;
    Call call{.lengths = options.lengths, .real = {}, .ids = {}};
    for (std::int64_t& length : call.lengths)
      length = std::clamp<std::int64_t>(length - first, 0, chunk);
    call.ids = value_or_fail(packed_positions(call.lengths, past));
    calls.push_back(std::move(call));
  }
  return calls;
}

std::vector<Run> runs_of(const Call& call, const std::string& name) {
  std::vector<Run> runs;
  std::int64_t token = 0;
  for (std::size_t i = 0; i < call.lengths.size(); token += call.lengths[i++])
    if (call.lengths[i] > 0)
      runs.push_back({fmt::format("{}sequence {}", name, i), token,
                      call.ids[static_cast<std::size_t>(token)], call.lengths[i]});
  if (!call.lengths.empty()) return runs;
  const std::int64_t tokens = std::ssize(call.ids) / call.rows;
  for (std::size_t i = 0; i < call.ids.size(); ++i) {
    token = static_cast<std::int64_t>(i) % tokens;
    if (call.real[i] == 0) continue;
    if (token > 0 && call.real[i - 1] != 0)
      ++runs.back().count;
    else
      runs.push_back(
          {fmt::format("row {}", static_cast<std::int64_t>(i) / tokens), token, call.ids[i], 1});
  }
  return runs;
}

std::string range_text(std::int64_t first, std::int64_t count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{} to {}", first, first + count - 1);
}

Json json_of(const std::vector<Call>& calls, const OutputOption& output) {
  Json ids = Json::array();
  for (const Call& call : calls)
    for (std::int64_t row = 0; row < call.rows; ++row) {
      const auto tokens = std::ssize(call.ids) / call.rows;
      ids.push_back(
          Numbers(call.ids.begin() + row * tokens, call.ids.begin() + (row + 1) * tokens));
    }
  Json json = {{"schema_version", 1}, {"output", output.path}};
  if (!calls.front().lengths.empty())
    json["lengths"] = json_array(calls, [](const Call& call) { return Json(call.lengths); });
  if (!output.path) json["ids"] = std::move(ids);
  return json;
}

Answer judge(const BatchOptions& options, OutputForm form) {
  const IntegerArray file = read_integers("--ids", *options.ids);
  const auto& shape = file.shape;
  require(!shape.empty() && shape.size() <= 3,
          "--ids must have the shape [tokens], [batch, tokens] or [axes, batch, tokens], got {}",
          shape_text(shape));
  const PositionIds ids = position_ids(file);
  const IntegerArray mask = options.mask ? read_integers("--mask", *options.mask) : IntegerArray{};
  const PositionCheck found = value_or_fail(
      check_positions(ids, {.attention_mask = options.mask ? mask_of(mask) : PaddingMask{},
                            .lengths = options.lengths,
                            .past = options.past}));
  const ExitCode code = !found.findings.empty() ? ExitCode::check_failed
                        : found.judged          ? ExitCode::ok
                                                : ExitCode::unsupported;
  if (form == OutputForm::json) {
    const auto finding = [](const PositionFinding& each) -> Json {
      return {{"kind", each.kind},
              {"row", each.row},
              {"token", each.token},
              {"sentence", each.sentence}};
    };
    return {printed({{"schema_version", 1},
                     {"sentence", found.sentence},
                     {"judged", found.judged},
                     {"findings", json_array(found.findings, finding)}}),
            code};
  }
  std::string text = found.sentence + "\n";
  for (const PositionFinding& each : found.findings)
    text += fmt::format("  row {}, token {}: {}\n", each.row, each.token, each.sentence);
  return {text, code};
}

}  // namespace

void check_printed_tokens(std::int64_t tokens, const OutputOption& output) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  require(output.path || tokens <= most,
          "an answer has at most {} tokens, got {}; --out FILE takes more", most, tokens);
}

void declare_batch(OptionParser& parser, BatchOptions& options) {
  const auto add_list = [&parser](const std::string& form, Numbers& target, std::string help) {
    parser.add_stored(form, std::move(help), OptionParser::Repeats::no,
                      [&target](const std::string& name, const std::string& text) {
                        for (const std::string_view part : split_at_commas(text))
                          target.push_back(parse_between(name, part, {0, most_axis_tokens}));
                      });
  };
  add_list("--lengths N,N", options.lengths,
           "instead of a prompt: text sequences one after the other, as packed or decoded");
  parser.add("--mask FILE", options.mask,
             "instead of a prompt: an attention mask [batch, tokens], .npy, .npz or .safetensors; "
             "0 marks padding");
  add_list("--past N,N", options.past,
           "how many tokens are cached: one number, or one for each of --lengths (0)");
  parser.add("--chunk N", options.chunk, integer({1, most_axis_tokens}),
             "calls of a chunked prefill of --lengths, N tokens of each sequence at once");
  parser.add("--ids FILE", options.ids,
             "ids of a program, [tokens], [batch, tokens] or [axes, batch, tokens], to judge by "
             "--lengths, --mask or --past; exit code 1 if one is wrong");
  parser.exclusive("--lengths", "--mask");
  parser.only({"--past"}, "--lengths, --mask or --ids", {"--lengths", "--mask", "--ids"});
  parser.only({"--chunk"}, "--lengths", {"--lengths"});
  parser.only({"--text", "--image", "--video", "--audio", "--as", "--merge", "--temporal-merge",
               "--ids-per-second", "--ids-per-chunk"},
              "prompts, and not --lengths, --mask or --ids",
              [&options] { return !options.are_given(); });
  for (const std::string_view other : {"--chunk", "--out", "--force"})
    parser.exclusive("--ids", other);
  parser.exclusive("--chunk", "--out");
}

Answer run_batch(const BatchOptions& options, const OutputOption& output, OutputForm form) {
  if (options.ids) return judge(options, form);
  const std::vector<Call> calls = calls_of(options, output);
  const Call& first = calls.front();
  const std::array shape = {first.rows, std::ssize(first.ids) / first.rows};
  output.write({NpyType::i64, std::span(shape).subspan(first.lengths.empty() ? 0 : 1),
                std::as_bytes(std::span(first.ids))});
  if (form == OutputForm::json) return printed(json_of(calls, output));
  if (output.path)
    return fmt::format("{}: [{}] i64\n", printable(*output.path),
                       first.lengths.empty() ? fmt::format("{}, {}", shape[0], shape[1])
                                             : fmt::format("{}", shape[1]));
  std::vector<TextRow> rows;
  for (std::size_t i = 0; i < calls.size(); ++i)
    for (const auto& run : runs_of(calls[i], calls.size() > 1 ? fmt::format("chunk {}, ", i) : ""))
      rows.push_back({run.name, range_text(run.token, run.count), range_text(run.id, run.count)});
  return text_table({left("of"), left("tokens"), left("ids")}, rows);
}

}  // namespace rotary::cli
