// SPDX-License-Identifier: Apache-2.0
// rotary positions: position ids of a prompt with text, images and videos, and the next position.
// Ids are as a model or an engine counts them. Ids of batches: batch_positions.hpp.
#include "cli/commands/batch_positions.hpp"
#include "cli/commands/prompt.hpp"
#include "rotary/m_rope.hpp"

namespace rotary::cli {
namespace positions_call {
namespace {

constexpr std::size_t most_lines_of_group = 8;

struct Arguments {
  Prompt prompt;
  std::string convention;
  std::optional<std::int64_t> merge, temporal_merge, ids_per_second, ids_per_chunk;
  BatchOptions batch;
  OutputOption output;
  bool list = false;
};

struct TokenRange {
  std::int64_t first = 0, end = 0;
};

// The ids of a prompt. Move it and do not copy it, because ids may fill the memory.
struct Answer {
  MRopeConvention convention;
  std::vector<PromptOption> options = {};  // one for each group
  std::vector<std::int64_t> group_ends = {};
  std::int64_t tokens = 0;
  double delta = 0;
  std::variant<AxisPositions<std::int64_t>, AxisPositions<double>> ids = {};

  [[nodiscard]] double id(std::int64_t axis, std::int64_t token) const {
    return std::visit([&](const auto& all) { return static_cast<double>(all.at(axis, token)); },
                      ids);
  }
  [[nodiscard]] bool has_fractions() const { return ids.index() == 1; }
  [[nodiscard]] TokenRange tokens_of(std::size_t group) const {
    return {group == 0 ? 0 : group_ends[group - 1], group_ends[group]};
  }
  [[nodiscard]] double next() const { return static_cast<double>(tokens) + delta; }
};

Answer make_answer(const Arguments& arguments) {
  require(!arguments.prompt.groups.empty(),
          "a prompt is required: --text N, --image ROWSxCOLUMNS, --video FRAMESxROWSxCOLUMNS@S, in "
          "its order");
  const std::string& name = arguments.convention;
  require(!name.empty(), "--as is required: how the model counts, such as qwen2.5-vl (--list)");
  const auto named = m_rope_convention(name);
  MRopeConvention convention =
      named ? *named : choose_by(&MRopeConvention::name, "--as", name, m_rope_conventions());
  convention.merge = arguments.merge.value_or(convention.merge);
  convention.temporal_merge = arguments.temporal_merge.value_or(convention.temporal_merge);
  convention.ids_per_second = arguments.ids_per_second.value_or(convention.ids_per_second);
  convention.ids_per_chunk = arguments.ids_per_chunk.value_or(convention.ids_per_chunk);
  Answer answer{.convention = convention, .options = arguments.prompt.options};
  answer.tokens = value_or_fail(m_rope_token_count(arguments.prompt.groups, answer.convention));
  check_grids(arguments.prompt, answer.convention);
  check_printed_tokens(answer.tokens, arguments.output);
  const auto keep = [&answer](auto made) {
    answer.group_ends = std::move(made.group_ends);
    answer.delta = static_cast<double>(made.delta);
    answer.ids = std::move(made.positions);
  };
  answer.convention.frame_times == FrameTimes::not_truncated
      ? keep(value_or_fail(m_rope_coordinates(arguments.prompt.groups, answer.convention)))
      : keep(value_or_fail(m_rope_positions(arguments.prompt.groups, answer.convention)));
  return answer;
}

std::string axis_name(IdAxis axis) {
  constexpr std::array names = {"time", "row", "column", "image", "token", "unused"};
  return names.at(static_cast<std::size_t>(axis));
}

std::span<const IdAxis> axes_of(const Answer& answer) {
  return std::span(answer.convention.counts)
      .first(static_cast<std::size_t>(answer.convention.axes));
}

// Splits a group's tokens into printed lines. Along a line, times are equal or rise by 1.
std::vector<TokenRange> lines_of(const Answer& answer, const TokenRange& group) {
  std::vector<TokenRange> lines = {{group.first, group.first + 1}};
  double step = 0;
  for (std::int64_t token = group.first + 1; token < group.end; ++token) {
    const double difference = answer.id(0, token) - answer.id(0, token - 1);
    const bool is_second = token - lines.back().first == 1;
    if ((difference == 0 || difference == 1) && (is_second || difference == step)) {
      lines.back().end = token + 1;
      step = difference;
    } else if (difference == 0) {  // the previous token starts a run of equal times
      lines.back().end = token - 1;
      lines.push_back({token - 1, token + 1});
      step = 0;
    } else {
      lines.push_back({token, token + 1});
    }
  }
  return lines;
}

std::string number_text(double number) { return fmt::format("{:.9g}", number); }

std::string range_text(double lowest, double highest) {
  if (lowest == highest) return number_text(lowest);
  return fmt::format("{} to {}", number_text(lowest), number_text(highest));
}

std::pair<double, double> range_of(const Answer& answer, std::int64_t axis,
                                   const TokenRange& tokens) {
  const auto range = [&](const auto& ids) {
    const auto begin = ids.numbers.begin() + axis * ids.tokens;
    const auto [lowest, highest] = std::minmax_element(begin + tokens.first, begin + tokens.end);
    return std::pair(static_cast<double>(*lowest), static_cast<double>(*highest));
  };
  return std::visit(range, answer.ids);
}

void add_lines(std::vector<TextRow>& lines, const Answer& answer, std::size_t group) {
  const TokenRange tokens = answer.tokens_of(group);
  const PromptOption& option = answer.options[group];
  const std::string name = printable(fmt::format("{} {}", option.name.substr(2), option.value));
  if (tokens.first == tokens.end) return;
  std::vector<TokenRange> parts = {tokens};
  if (answer.convention.counts[0] == IdAxis::time) parts = lines_of(answer, tokens);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts.size() > most_lines_of_group && i + 2 >= most_lines_of_group &&
        i + 1 < parts.size()) {
      lines.push_back({"...", fmt::format("{} more", parts.size() - most_lines_of_group + 1)});
      lines.back().resize(lines.front().size());
      i = parts.size() - 2;
      continue;
    }
    const auto [first, end] = parts[i];
    TextRow& line = lines.emplace_back(TextRow{
        range_text(static_cast<double>(first), static_cast<double>(end - 1)), i == 0 ? name : ""});
    for (std::int64_t axis = 0; axis < answer.convention.axes; ++axis) {
      const auto [lowest, highest] = range_of(answer, axis, parts[i]);
      line.push_back(range_text(lowest, highest));
    }
  }
}

// Names the first group that starts at or below the highest id before it.
std::string backwards_text(const Answer& answer) {
  double highest = -1;
  for (std::size_t group = 0; group < answer.options.size(); ++group) {
    const TokenRange tokens = answer.tokens_of(group);
    if (tokens.first == tokens.end || answer.convention.counts[0] != IdAxis::time) continue;
    const double first = answer.id(0, tokens.first);
    if (first <= highest)
      return fmt::format(
          "ids go backwards: token {} ({}) has the id {}, after ids up to {}, as {} counts "
          "(docs/theory/axes.md)\n",
          tokens.first, answer.options[group].name.substr(2), number_text(first),
          number_text(highest), answer.convention.name);
    for (std::int64_t axis = 0; axis < answer.convention.axes; ++axis)
      highest = std::max(highest, range_of(answer, axis, tokens).second);
  }
  return {};
}

std::string summary(const Answer& answer) {
  return fmt::format("{}, {} tokens on {} axes, delta {}: the next token stands at {}\n{}",
                     answer.convention.name, answer.tokens, answer.convention.axes,
                     number_text(answer.delta), number_text(answer.next()), backwards_text(answer));
}

Json number_json(const Answer& answer, double number) {
  return answer.has_fractions() ? Json(number) : Json(static_cast<std::int64_t>(number));
}

Json json_of(const Arguments& arguments, const Answer& answer) {
  Json groups = Json::array();
  for (std::size_t group = 0; group < answer.options.size(); ++group) {
    const auto [first, end] = answer.tokens_of(group);
    groups.push_back({{"kind", answer.options[group].name.substr(2)},
                      {"first_token", first},
                      {"tokens", end - first}});
  }
  Json json = {{"schema_version", 1},
               {"convention", answer.convention.name},
               {"source", answer.convention.source},
               {"axes", json_array(axes_of(answer), axis_name)},
               {"tokens", answer.tokens},
               {"groups", std::move(groups)},
               {"delta", number_json(answer, answer.delta)},
               {"next_position", number_json(answer, answer.next())},
               {"goes_backwards", !backwards_text(answer).empty()},
               {"output", arguments.output.path}};
  if (arguments.output.path) return json;
  for (std::int64_t axis = 0; axis < answer.convention.axes; ++axis) {
    Json& row = json["ids"].emplace_back(Json::array());
    for (std::int64_t token = 0; token < answer.tokens; ++token)
      row.push_back(number_json(answer, answer.id(axis, token)));
  }
  return json;
}

std::string list_conventions(OutputForm form) {
  const auto all = m_rope_conventions();
  if (form == OutputForm::json)
    return printed({{"schema_version", 1},
                    {"conventions", json_array(all, [](const MRopeConvention& each) -> Json {
                       return {{"name", each.name}, {"source", each.source}};
                     })}});
  std::vector<TextRow> rows;
  for (const MRopeConvention& each : all)
    rows.push_back({std::string(each.name), std::string(each.source)});
  return text_table({left("name"), left("source")}, rows);
}

cli::Answer run_positions(const Arguments& arguments, OutputForm form) {
  if (arguments.list) return list_conventions(form);
  arguments.output.check({".npy"});
  if (arguments.batch.are_given()) return run_batch(arguments.batch, arguments.output, form);
  const Answer answer = make_answer(arguments);
  const std::array shape = {answer.convention.axes, answer.tokens};
  const NpyType type = answer.has_fractions() ? NpyType::f64 : NpyType::i64;
  const auto bytes_of = [](const auto& ids) { return std::as_bytes(std::span(ids.numbers)); };
  arguments.output.write({type, shape, std::visit(bytes_of, answer.ids)});
  if (form == OutputForm::json) return printed(json_of(arguments, answer));
  if (!arguments.output.path) {
    std::vector<Column> columns = {left("tokens"), left("group")};
    for (const IdAxis counted : axes_of(answer)) columns.push_back(left(axis_name(counted)));
    std::vector<TextRow> lines;
    for (std::size_t group = 0; group < answer.options.size(); ++group)
      add_lines(lines, answer, group);
    return text_table(columns, lines) + summary(answer);
  }
  return fmt::format("{}: [{}, {}] {}\n{}", printable(*arguments.output.path),
                     answer.convention.axes, answer.tokens, answer.has_fractions() ? "f64" : "i64",
                     summary(answer));
}

void declare(OptionParser& parser, Arguments& arguments) {
  declare_prompt(parser, arguments.prompt);
  parser.add("--as CONVENTION", arguments.convention, "how a model, or an engine, counts (--list)")
      .value_may_be_missing();
  parser.add("--list", arguments.list, "print the conventions and their sources instead");
  parser.add("--merge N", arguments.merge, integer(),
             "the config's spatial_merge_size, if most models of the convention have another "
             "one");
  parser.add("--temporal-merge N", arguments.temporal_merge, integer(),
             "the config's temporal_merge_size, likewise");
  parser.add("--ids-per-second N", arguments.ids_per_second, integer(),
             "the config's tokens_per_second or position_id_per_seconds, likewise");
  parser.add("--ids-per-chunk N", arguments.ids_per_chunk, integer(),
             "position_id_per_seconds * seconds_per_chunk, likewise");
  declare_output(
      parser, arguments.output,
      ".npy: int64 (qwen3-omni: float64) [axes, tokens]; [batch, tokens] of --mask, [tokens]");
  declare_batch(parser, arguments.batch);
  parser.alone("--list");
}

}  // namespace
}  // namespace positions_call

constinit const Command positions_command{
    .name = "positions",
    .summary = "Print the position ids of a prompt or a batch, or judge ids",
    .examples =
        "  rotary positions --text 5 --image 4x6 --text 3 --as qwen2.5-vl\n"
        "  rotary positions --text 5 --image 4x6 --video 8x4x6@2 --text 3 --as qwen2.5-vl --json\n"
        "  rotary positions --text 5 --video 4x4x6 --frame-text 7 --text 3 --as qwen3-vl\n"
        "  rotary positions --text 1 --image 16x16 --slices 2x2x16x16 --text 3 --as "
        "minicpm-v-4.7\n"
        "  rotary positions --lengths 5,4,7 --chunk 4\n"
        "  rotary positions --ids ids.npy --mask mask.npy\n"
        "  rotary positions --list\n",
    .declare = declared<positions_call::declare, positions_call::run_positions>,
};

}  // namespace rotary::cli
