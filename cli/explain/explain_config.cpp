// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/explain_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/explain/config_keys.hpp"
#include "cli/explain/key_meanings.hpp"
#include "cli/explain/model_facts.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/json_writer.hpp"
#include "cli/model_input.hpp"
#include "cli/printable.hpp"
#include "cli/utf8.hpp"
#include "cli/warning.hpp"
#include "rotary/families.hpp"

namespace rotary::cli::explain {
namespace {

struct Explanation {
  std::string name;  // of the file or card
  ModelSpec model;
  std::vector<Fact> facts;
  std::vector<ConfigKey> keys;
  std::vector<Fact> assumed;  // that no key decides
  std::optional<FamilyInfo> family;
};

std::optional<FamilyInfo> family_of(const ModelSpec& model) {
  for (const FamilyInfo& family : value_or_fail(known_families())) {
    if (family.model_type == model.model_type) return family;
  }
  return {};
}

bool changes_fact(const Outcome& outcome, const Fact& fact) {
  const auto* const changed = std::get_if<std::vector<FactChange>>(&outcome);
  return changed != nullptr && std::ranges::any_of(*changed, [&](const FactChange& each) {
           return each.name == fact.name && each.layer_type == fact.layer_type;
         });
}

// What the family, or --pairing, says: no key was seen to change it.
std::vector<Fact> assumed_among(const std::vector<Fact>& facts,
                                const std::vector<ConfigKey>& keys) {
  constexpr std::array<std::string_view, 5> names = {"pairing", "base", "head_dim", "rotary_dim",
                                                     "trained_context_tokens"};
  std::vector<Fact> assumed;
  for (const Fact& fact : facts) {
    if (std::ranges::find(names, fact.name) == names.end()) continue;
    const bool is_decided = std::ranges::any_of(keys, [&](const ConfigKey& key) {
      return changes_fact(key.without, fact) ||
             (key.other && changes_fact(key.other->outcome, fact));
    });
    if (!is_decided) assumed.push_back(fact);
  }
  return assumed;
}

Explanation explanation_of(const std::string& path_or_card, const ResolveOptions& options) {
  const std::string json = read_config(path_or_card);
  Explanation explanation{.name = path_or_card,
                          .model = value_or_fail(resolve(json, options), input_name(path_or_card)),
                          .facts = {},
                          .keys = keys_of_config({.json = json, .options = options}),
                          .assumed = {},
                          .family = {}};
  print_warnings("explain", explanation.model.warnings);
  explanation.facts = facts_of(explanation.model, options.context_tokens);
  explanation.assumed = assumed_among(explanation.facts, explanation.keys);
  explanation.family = family_of(explanation.model);
  return explanation;
}

// Broken between words, each line indented by so much.
std::string wrapped(std::string_view text, std::size_t indent) {
  constexpr std::size_t width = 92;
  std::string lines(indent, ' ');
  std::size_t column = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (column > indent && column + 1 + word.size() > width) {
      lines += '\n';
      lines.append(indent, ' ');
      column = indent;
    }
    if (column > indent) lines += ' ';
    column += word.size() + (column > indent ? 1 : 0);
    lines += word;
  }
  return lines + "\n";
}

std::string value_shown(const std::string& json) {
  constexpr std::size_t most = 48;
  return printable(json.size() <= most ? json : fmt::format("{}...", utf8_prefix(json, most)));
}

std::string outcome_text(std::string_view label, const Outcome& outcome) {
  if (const auto* const error = std::get_if<Error>(&outcome)) {
    return wrapped(fmt::format("{}: refused: {}", label, printable(error->message)), 6);
  }
  const auto& changed = std::get<std::vector<FactChange>>(outcome);
  if (changed.empty()) return wrapped(fmt::format("{}: the same model", label), 6);
  std::string text = fmt::format("      {}:\n", label);
  for (const FactChange& change : changed) text += wrapped(change_text(change), 10);
  return text;
}

std::string other_text(const ConfigKey& key) {
  if (!key.other) return {};
  return outcome_text(fmt::format("with {}", key.other->value), key.other->outcome);
}

std::string key_text(const ConfigKey& key) {
  std::string text = fmt::format("  {} = {}\n", printable(key.path), value_shown(key.value));
  if (const std::string_view meaning = meaning_of(key.path); !meaning.empty()) {
    text += wrapped(meaning, 6);
  }
  for (const std::string& warning : key.warnings) text += wrapped(printable(warning), 6);
  return text;
}

std::string keys_text(const Explanation& explanation, KeyUse use) {
  std::string text;
  for (const ConfigKey& key : explanation.keys) {
    if (key.use != use) continue;
    text += key_text(key);
    if (use == KeyUse::required || use == KeyUse::used) {
      text += outcome_text("without it", key.without);
    }
    text += other_text(key);
  }
  return text;
}

std::string section(std::string_view title, const std::string& text) {
  return text.empty() ? text : fmt::format("\n{}\n{}", title, text);
}

std::string unread_text(const Explanation& explanation) {
  std::string names;
  for (const ConfigKey& key : explanation.keys) {
    if (key.use != KeyUse::unread) continue;
    names += (names.empty() ? "" : ", ") + printable(key.path);
  }
  return names.empty() ? names : wrapped(names, 2);
}

std::string assumed_text(const Explanation& explanation) {
  std::string text;
  for (const Fact& fact : explanation.assumed) text += wrapped(fact_text(fact), 2);
  if (explanation.model.rotary.empty() || !explanation.family) return text;
  const FamilyInfo& family = *explanation.family;
  std::string source = fmt::format("of the family {}", family.model_type);
  if (!family.source.empty()) source += fmt::format(", transformers/models/{}", family.source);
  if (!family.note.empty()) source += fmt::format(": {}", family.note);
  return text + wrapped(source, 2);
}

std::string text_of(const Explanation& explanation) {
  std::string text =
      fmt::format("{}: what each key does to positions\n", printable(input_name(explanation.name)));
  text += section("Without these nothing can be said", keys_text(explanation, KeyUse::required));
  text += section("Without these the model is another one", keys_text(explanation, KeyUse::used));
  text += section("Read, but the model is the same without them",
                  keys_text(explanation, KeyUse::no_effect));
  text += section("Without effect, and warned about", keys_text(explanation, KeyUse::ignored));
  text +=
      section("Not read: not about positions, or another key says it", unread_text(explanation));
  text += section("Decided by no key", assumed_text(explanation));
  return text +
         "\nFound by experiment: the config was resolved again without each key, and with another\n"
         "value. What it comes to as a whole: rotary inspect\n";
}

std::optional<std::string_view> text_or_null(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

void write_outcome(JsonWriter& json, std::string_view name, const Outcome& outcome) {
  json.key(name);
  json.begin_object();
  if (const auto* const error = std::get_if<Error>(&outcome)) {
    json.member("error", error->message);
  } else {
    json.key("changes");
    json.begin_array();
    for (const FactChange& change : std::get<std::vector<FactChange>>(outcome)) {
      json.begin_object();
      json.member("name", change.name);
      json.member("layer_type", text_or_null(change.layer_type));
      json.key("from");
      write_value(json, change.from);
      json.key("to");
      write_value(json, change.to);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
}

void write_facts(JsonWriter& json, std::string_view name, const std::vector<Fact>& facts) {
  json.key(name);
  json.begin_array();
  for (const Fact& fact : facts) {
    json.begin_object();
    json.member("name", fact.name);
    json.member("layer_type", text_or_null(fact.layer_type));
    json.key("value");
    write_value(json, fact.value);
    json.end_object();
  }
  json.end_array();
}

void write_key(JsonWriter& json, const ConfigKey& key) {
  const std::string_view meaning = meaning_of(key.path);
  json.begin_object();
  json.member("path", key.path);
  json.key("value");
  if (key.value == "{...}") {
    json.null();
  } else {
    json.document(key.value);
  }
  json.member("use", to_string(key.use));
  json.member("meaning", text_or_null(meaning));
  json.array("warnings", key.warnings);
  write_outcome(json, "without", key.without);
  if (key.other) {
    json.key("other_value");
    json.document(key.other->value);
    write_outcome(json, "with_other_value", key.other->outcome);
  }
  json.end_object();
}

std::string json_of(const Explanation& explanation) {
  JsonWriter json;
  json.begin_object();
  json.member("schema_version", 1);
  json.member("topic", "config");
  json.member("model_type", text_or_null(explanation.model.model_type));
  write_facts(json, "facts", explanation.facts);
  write_facts(json, "assumed", explanation.assumed);
  json.key("keys");
  json.begin_array();
  for (const ConfigKey& key : explanation.keys) write_key(json, key);
  json.end_array();
  json.array("warnings", explanation.model.warnings);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace

std::string explain_config(const std::string& path_or_card, const ResolveOptions& options,
                           OutputForm form) {
  const Explanation explanation = explanation_of(path_or_card, options);
  return form == OutputForm::json ? json_of(explanation) : text_of(explanation);
}

}  // namespace rotary::cli::explain
