// SPDX-License-Identifier: Apache-2.0
// rotary models: the model cards inside the tool: list them, look for some, print one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/ascii.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/families.hpp"
#include "cli/failure.hpp"
#include "cli/json_writer.hpp"
#include "cli/model_cards.hpp"
#include "cli/warning.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {
namespace {

enum class Action { list, search, show, families };

struct Arguments {
  std::optional<std::string> action;
  std::optional<std::string> text;
};

struct Entry {
  const ModelCard* card;
  Result<ModelSpec> model;
};

std::vector<Entry> entries_of(const std::vector<const ModelCard*>& cards) {
  std::vector<Entry> entries;
  entries.reserve(cards.size());
  for (const ModelCard* card : cards) entries.push_back({card, resolve(card->json)});
  return entries;
}

std::vector<const ModelCard*> cards_with(std::string_view part) {
  std::vector<const ModelCard*> found;
  for (const ModelCard& card : model_cards()) {
    if (contains_ignoring_case(card.name, part) || contains_ignoring_case(card.model_type, part) ||
        contains_ignoring_case(card.source, part)) {
      found.push_back(&card);
    }
  }
  return found;
}

const ModelCard& card_named(const std::string& name) {
  if (const ModelCard* card = find_model_card(name)) return *card;
  throw Failure(ExitCode::usage,
                fmt::format("no model card is called '{}'{}", name, near_card_names_text(name)));
}

std::optional<std::int64_t> trained_context(const ModelSpec& model) {
  std::optional<std::int64_t> longest;
  for (const ModelRotary& rotary : model.rotary) {
    longest = std::max(longest, rotary.trained_context_tokens);
  }
  return longest;
}

// What the layers do, each thing once, in order of the first layer.
std::vector<std::string_view> encodings_of(const ModelSpec& model) {
  std::vector<std::string_view> names;
  for (const ModelLayer& layer : model.layers) {
    const std::string_view name = to_string(layer.encoding);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

using Row = std::array<std::string, 6>;
constexpr std::array<std::size_t, 3> right_aligned = {2, 3, 5};

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

std::string or_dash(std::string text) { return text.empty() ? "-" : std::move(text); }

Row row_of(const Entry& entry) {
  Row row = {std::string(entry.card->name),
             or_dash(std::string(entry.card->model_type)),
             "-",
             "-",
             "not supported",
             "-"};
  if (!entry.model) return row;
  const ModelSpec& model = *entry.model;
  std::vector<std::string> bases;
  std::vector<std::string> rules;
  for (const ModelRotary& rotary : model.rotary) {
    add_once(bases, fmt::format("{}", rotary.spec.base.get()));
    add_once(rules, std::string(rope_type(rotary.spec.scaling)));
  }
  for (const std::string_view encoding : encodings_of(model)) {
    if (encoding != to_string(LayerEncoding::rotary)) add_once(rules, std::string(encoding));
  }
  if (const auto context = trained_context(model)) row[2] = fmt::format("{}", *context);
  row[3] = or_dash(fmt::format("{}", fmt::join(bases, ", ")));
  row[4] = or_dash(fmt::format("{}", fmt::join(rules, ", ")));
  if (!model.layers.empty()) row[5] = fmt::format("{}", model.layers.size());
  return row;
}

std::string table_of(const std::vector<Entry>& entries) {
  std::vector<Row> rows = {{"name", "model_type", "context", "base", "rope_type", "layers"}};
  for (const Entry& entry : entries) rows.push_back(row_of(entry));
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool right = std::ranges::find(right_aligned, i) != right_aligned.end();
      line += right ? fmt::format("{:>{}}  ", row[i], widths[i])
                    : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

void write_rotary(JsonWriter& json, const ModelSpec& model) {
  json.key("rotary");
  json.begin_array();
  for (const ModelRotary& rotary : model.rotary) {
    json.begin_object();
    json.member("layer_type", rotary.layer_type);
    json.member("base", rotary.spec.base.get());
    json.member("rope_type", rope_type(rotary.spec.scaling));
    json.end_object();
  }
  json.end_array();
}

void write_entry(JsonWriter& json, const Entry& entry, Action action) {
  json.begin_object();
  json.member("name", entry.card->name);
  json.member("model_type", entry.card->model_type.empty() ? std::optional<std::string_view>()
                                                           : std::optional(entry.card->model_type));
  json.member("source", entry.card->source);
  if (entry.model) {
    json.member("trained_context_tokens", trained_context(*entry.model));
    json.member("layers", entry.model->layers.size());
    json.array("encodings", encodings_of(*entry.model));
    write_rotary(json, *entry.model);
  }
  json.member("error", entry.model ? std::optional<std::string>()
                                   : std::optional(entry.model.error().message));
  if (action == Action::show) {
    json.key("config");
    json.document(entry.card->json);
  }
  json.end_object();
}

std::string json_of(const std::vector<Entry>& entries, Action action) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.key("models");
  json.begin_array();
  for (const Entry& entry : entries) write_entry(json, entry, action);
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

Action action_of(const Arguments& arguments) {
  if (!arguments.action) return Action::list;
  const auto action = choose<Action>(
      "ACTION", *arguments.action,
      {{"search", Action::search}, {"show", Action::show}, {"families", Action::families}});
  if (!arguments.text && action != Action::families) {
    throw Failure(ExitCode::usage,
                  fmt::format("`rotary models {0}` needs {1}: rotary models {0} {1}",
                              *arguments.action, action == Action::show ? "NAME" : "TEXT"));
  }
  return action;
}

std::string run_models(const Arguments& arguments, OutputForm form) {
  const Action action = action_of(arguments);
  if (action == Action::families) {
    const std::string part = arguments.text.value_or("");
    return form == OutputForm::json ? families_json(part) : families_text(part);
  }
  const std::vector<const ModelCard*> cards = action == Action::show
                                                  ? std::vector{&card_named(*arguments.text)}
                                                  : cards_with(arguments.text.value_or(""));
  if (cards.empty()) {
    print_warnings("models", std::vector{fmt::format("no card has '{}' in its name, model_type or "
                                                     "source",
                                                     *arguments.text)});
  }
  if (form == OutputForm::json) return json_of(entries_of(cards), action);
  if (action == Action::show) return std::string(cards.front()->json);
  return table_of(entries_of(cards));
}

Run declare(OptionParser& parser) {
  const auto arguments = std::make_shared<Arguments>();
  parser.add("ACTION", arguments->action,
             "search, show or families; without it every card is listed");
  parser.add("TEXT", arguments->text,
             "of search: part of a name, a model_type or a source, in any case; of show: the "
             "card's name; of families: part of a model_type, an encoding or a note");
  return [arguments](OutputForm form) { return run_models(*arguments, form); };
}

}  // namespace

constinit const Command models_command{
    .name = "models",
    .summary = "List, search and print the configs that the tool brings along",
    .examples =
        "  rotary models\n"
        "  rotary models search qwen\n"
        "  rotary models show llama-3.1-8b\n"
        "  rotary models families gemma\n"
        "  rotary inspect llama-3.1-8b\n"
        "  rotary models --json | jq -r '.models[] | select(.error == null).name'\n",
    .declare = declare,
};

}  // namespace rotary::cli
