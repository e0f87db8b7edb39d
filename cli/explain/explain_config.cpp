// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/explain_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "apps/printable.hpp"
#include "apps/standard_streams.hpp"
#include "apps/utf8.hpp"
#include "cli/text_table.hpp"
namespace rotary::cli::explain {
namespace {

bool changes_fact(const Outcome& outcome, const Fact& fact) {
  return outcome && std::ranges::any_of(*outcome, [&](const FactChange& each) {
           return each.name == fact.name && each.layer_type == fact.layer_type;
         });
}

// Basic facts that no key was seen to change. The family, or --pairing, decides them.
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

std::string lines_of(std::string_view text, std::size_t indent) {
  return wrapped(text, indent, 92);
}

std::string effects_text(const ConfigKey& key) {
  std::string text;
  for (const auto& [change, results, is_sentence] : effects_of(key)) {
    if (is_sentence) {
      text += lines_of(fmt::format("{}: {}", change, printable(results.front())), 6);
      continue;
    }
    text += fmt::format("      {}:\n", change);
    for (const std::string& result : results) text += lines_of(result, 10);
  }
  return text;
}

std::string section(std::string_view title, const std::string& text) {
  return text.empty() ? text : fmt::format("\n{}\n{}", title, text);
}

std::string keys_text(const std::vector<ConfigKey>& keys, KeyUse use) {
  std::string text;
  std::vector<std::string> unread;
  for (const ConfigKey& key : keys) {
    if (key.use != use) continue;
    if (use == KeyUse::unread) {
      unread.push_back(printable(key.path));
      continue;
    }
    text += fmt::format("  {} = {}\n", printable(key.path),
                        printable(value_text(key.value, 48, "...")));
    if (const std::string meaning = meaning_of(key.path); !meaning.empty())
      text += lines_of(meaning, 6);
    for (const std::string& warning : key.warnings) text += lines_of(printable(warning), 6);
    text += effects_text(key);
  }
  if (!unread.empty()) text = lines_of(fmt::format("{}", fmt::join(unread, ", ")), 2);
  return section(words_of(use).title, text);
}

std::string assumed_text(const ModelSpec& model, const std::vector<Fact>& assumed) {
  std::string text;
  for (const Fact& fact : assumed) text += lines_of(fact_text(fact), 2);
  if (model.rotary.empty()) return text;
  for (const FamilyInfo& family : value_or_fail(known_families())) {
    if (family.model_type != model.model_type) continue;
    std::string source = fmt::format("of the family {}", family.model_type);
    if (!family.source.empty()) source += fmt::format(", transformers/models/{}", family.source);
    if (!family.note.empty()) source += fmt::format(": {}", family.note);
    return text + lines_of(source, 2);
  }
  return text;
}

Json outcome_json(const Outcome& outcome) {
  return outcome ? Json{{"changes", *outcome}} : Json{{"error", outcome.error().message}};
}

Json key_json(const ConfigKey& key) {
  const bool is_unread_object = key.value.is_object() && !key.value.empty();
  Json json = {{"path", key.path},
               {"value", is_unread_object ? Json() : key.value},
               {"use", words_of(key.use).name},
               {"meaning", text_or_null(meaning_of(key.path))},
               {"warnings", key.warnings},
               {"without", outcome_json(key.without)}};
  if (key.other) {
    json["other_value"] = key.other->value;
    json["with_other_value"] = outcome_json(key.other->outcome);
  }
  return json;
}

}  // namespace

const KeyUseWords& words_of(KeyUse use) noexcept {
  static constexpr std::array<KeyUseWords, 5> words = {{
      {"required", "Without these nothing can be said", "needed: nothing can be said without it"},
      {"used", "Without these the model is another one", "without it the model is another one"},
      {"no_effect", "Read, but the model is the same without them",
       "the model is the same without it"},
      {"ignored", "Without effect, and warned about", "has no effect, and is warned about"},
      {"unread", "Not read: not about positions, or another key says it", "not read"},
  }};
  return words[static_cast<std::size_t>(use)];
}

std::string value_text(const Json& value, std::size_t most, std::string_view ellipsis) {
  const std::string text = value.is_object() && !value.empty() ? "{...}" : dumped(value);
  return text.size() <= most ? text : fmt::format("{}{}", utf8_prefix(text, most), ellipsis);
}

std::vector<KeyEffect> effects_of(const ConfigKey& key) {
  std::vector<KeyEffect> effects;
  const auto add = [&](std::string change, const Outcome& outcome) {
    KeyEffect effect{.change = std::move(change), .results = {}, .is_sentence = true};
    if (!outcome) {
      effect.results = {"refused: " + outcome.error().message};
    } else if (outcome->empty()) {
      effect.results = {"the same model"};
    } else {
      effect.is_sentence = false;
      for (const FactChange& each : *outcome) effect.results.push_back(change_text(each));
    }
    effects.push_back(std::move(effect));
  };
  if (key.use == KeyUse::required || key.use == KeyUse::used) add("without it", key.without);
  if (key.other) add(fmt::format("with {}", dumped(key.other->value)), key.other->outcome);
  return effects;
}

std::vector<ConfigKey> keys_of(const ConfigFile& config, const ResolveOptions& options) {
  if (!config.gguf) return keys_of_config(config.json, options);
  return keys_of_gguf(*config.gguf, {.context_tokens = options.context_tokens,
                                     .numerics = options.numerics,
                                     .overrides = options.overrides});
}

std::string explain_config(const std::string& path_or_card, const ResolveOptions& options,
                           OutputForm form) {
  const ConfigFile config = read_config(path_or_card);
  const ModelSpec model = model_of(config, path_or_card, options);
  const std::vector<ConfigKey> keys = keys_of(config, options);
  print_warnings("explain", model.warnings);
  const std::vector<Fact> facts = facts_of(model, options.context_tokens);
  const std::vector<Fact> assumed = assumed_among(facts, keys);
  if (form == OutputForm::json) {
    return printed({{"schema_version", 1},
                    {"topic", "config"},
                    {"model_type", text_or_null(model.model_type)},
                    {"facts", facts},
                    {"assumed", assumed},
                    {"keys", json_array(keys, key_json)},
                    {"warnings", model.warnings}});
  }
  std::string text =
      fmt::format("{}: what each key does to positions\n", printable(input_name(path_or_card)));
  for (const KeyUse use :
       {KeyUse::required, KeyUse::used, KeyUse::no_effect, KeyUse::ignored, KeyUse::unread}) {
    text += keys_text(keys, use);
  }
  return text + section("Decided by no key", assumed_text(model, assumed)) +
         "\nFound by experiment: the config was resolved again without each key, and with another\n"
         "value. The resolved model: rotary inspect\n";
}

}  // namespace rotary::cli::explain
