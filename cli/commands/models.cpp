// SPDX-License-Identifier: Apache-2.0
// rotary models: lists, searches and prints the model cards inside the tool.
#include "apps/utf8.hpp"
#include "cli/commands/commands.hpp"
#include "cli/model_cards.hpp"
#include "rotary/dialect.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {
namespace models_call {
namespace {

enum class Action { list, search, show, families, rules };

struct Arguments {
  Action action = Action::list;
  std::optional<std::string> text;
  bool engines = false;
};

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  const auto found =
      std::search(text.begin(), text.end(), part.begin(), part.end(),
                  [](char one, char other) { return ascii_lower(one) == ascii_lower(other); });
  return part.empty() || found != text.end();
}

std::vector<const ModelCard*> cards_with(std::string_view part) {
  std::vector<const ModelCard*> found;
  for (const ModelCard& card : model_cards())
    if (contains_ignoring_case(card.name, part) || contains_ignoring_case(card.model_type, part) ||
        contains_ignoring_case(card.source, part))
      found.push_back(&card);
  return found;
}

// The refusal suggests cards, because an unknown action is often part of a card's name.
Value<Action> action() {
  auto named = one_named<Action>({{"search", Action::search},
                                  {"show", Action::show},
                                  {"families", Action::families},
                                  {"rules", Action::rules}});
  return {.name = named.name, .read = [read = named.read](auto option, auto text) {
            try {
              return read(option, text);
            } catch (const Failure& failure) {
              const std::size_t cards = cards_with(text).size();
              if (cards == 0) fail_usage("{}{}", failure.what(), near_card_names_text(text));
              fail_usage("{}; `rotary models search {}` lists {} card{}", failure.what(), text,
                         cards, cards == 1 ? "" : "s");
            }
          }};
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

Json card_json(const ModelCard& card, Action action) {
  Json json = {
      {"name", card.name}, {"model_type", text_or_null(card.model_type)}, {"source", card.source}};
  const Result<ModelSpec> model = resolve(card.json);
  if (model) {
    std::vector<std::string> encodings;  // without repeats, in layer order
    for (const ModelLayer& layer : model->layers)
      add_once(encodings, std::string(to_string(layer.encoding)));
    std::optional<std::int64_t> longest;
    for (const ModelRotary& rotary : model->rotary)
      longest = std::max(longest, rotary.trained_context_tokens);
    json.update({{"trained_context_tokens", longest},
                 {"layers", model->layers.size()},
                 {"encodings", encodings},
                 {"rotary", json_array(model->rotary, [](const ModelRotary& rotary) -> Json {
                    return {{"layer_type", rotary.layer_type},
                            {"base", rotary.spec.base.get()},
                            {"rope_type", rope_type(rotary.spec.scaling)}};
                  })}});
  }
  json["error"] = model ? Json() : Json(model.error().message);
  if (action == Action::show) json["config"] = parse_json_in_order(card.json);
  return json;
}

std::string or_dash(std::string text) { return text.empty() ? "-" : std::move(text); }

TextRow card_cells(const Json& card) {
  const Json& model_type = card.at("model_type");
  const std::string type = model_type.is_null() ? "-" : model_type;
  if (!card.at("error").is_null()) return {card.at("name"), type, "-", "-", "not supported", "-"};
  std::vector<std::string> bases;
  std::vector<std::string> rules;
  for (const Json& rotary : card.at("rotary")) {
    add_once(bases, fmt::format("{}", rotary.at("base").get<double>()));
    add_once(rules, rotary.at("rope_type"));
  }
  for (const Json& encoding : card.at("encodings"))
    if (encoding != to_string(LayerEncoding::rotary)) add_once(rules, encoding);
  const Json& context = card.at("trained_context_tokens");
  const Json& layers = card.at("layers");
  return {card.at("name"),
          type,
          context.is_null() ? "-" : dumped(context),
          or_dash(fmt::format("{}", fmt::join(bases, ", "))),
          or_dash(fmt::format("{}", fmt::join(rules, ", "))),
          layers == 0 ? "-" : dumped(layers)};
}

std::string encoding_text(const FamilyInfo& family) {
  if (!family.text_model_type.empty()) return fmt::format("around {}", family.text_model_type);
  return std::string(family.pairing ? to_string(*family.pairing) : to_string(family.encoding));
}

std::vector<FamilyInfo> families_with(std::string_view part) {
  std::vector<FamilyInfo> families = value_or_fail(known_families());
  std::erase_if(families, [part](const FamilyInfo& family) {
    return !contains_ignoring_case(family.model_type, part) &&
           !contains_ignoring_case(encoding_text(family), part) &&
           !contains_ignoring_case(family.note, part);
  });
  return families;
}

Json family_json(const FamilyInfo& family) {
  return {{"model_type", family.model_type},
          {"encoding", to_string(family.encoding)},
          {"pairing", family.pairing ? Json(to_string(*family.pairing)) : Json()},
          {"base", family.base},
          {"text_model_type", text_or_null(family.text_model_type)},
          {"note", text_or_null(family.note)},
          {"source", text_or_null(family.source)}};
}

std::string families_text(const std::vector<FamilyInfo>& families) {
  std::vector<TextRow> rows;
  for (const FamilyInfo& family : families) {
    const bool has_base = family.pairing && family.text_model_type.empty();
    rows.push_back({std::string(family.model_type), encoding_text(family),
                    !has_base     ? "-"
                    : family.base ? fmt::format("{}", *family.base)
                                  : "required",
                    std::string(family.note)});
  }
  return text_table({left("model_type"), left("encoding"), {"base", 9}, left("")}, rows);
}

std::string release_text(const EngineVersion& version) {
  return fmt::format("{}.{}", version.major, version.minor);
}

std::vector<const DialectRule*> rules_with(std::string_view part) {
  std::vector<const DialectRule*> found;
  for (const Engine engine : all_engines)
    for (const DialectRule& rule : rules_of(engine))
      if (contains_ignoring_case(to_string(engine), part) ||
          contains_ignoring_case(rule.name, part) || contains_ignoring_case(rule.sentence, part))
        found.push_back(&rule);
  return found;
}

Json rule_json(const DialectRule* rule) {
  const bool every_release = rule->last == EngineVersion{};
  return {{"engine", to_string(rule->engine)},
          {"name", rule->name},
          {"first", every_release ? Json() : Json(release_text(rule->first))},
          {"last", every_release ? Json() : Json(release_text(rule->last))},
          {"evidence", to_string(rule->evidence)},
          {"sentence", rule->sentence},
          {"source", rule->source}};
}

std::string rules_text(const std::vector<const DialectRule*>& rules) {
  std::vector<TextRow> rows;
  for (const DialectRule* rule : rules)
    rows.push_back({std::string(to_string(rule->engine)),
                    rule->last == EngineVersion{} ? "all"
                    : rule->first == rule->last   ? release_text(rule->first)
                                                : fmt::format("{} to {}", release_text(rule->first),
                                                              release_text(rule->last)),
                    std::string(to_string(rule->evidence)), std::string(rule->name),
                    std::string(rule->sentence)});
  return text_table({left("engine"), left("versions"), left("known"), left("rule"), left("")},
                    rows);
}

Json engine_json(Engine engine) {
  const EngineFacts& facts = facts_of(engine);
  return {{"engine", to_string(engine)},
          {"source", facts.source},
          {"looked_at", facts.looked_at},
          {"releases", json_array(facts.releases, release_text)},
          {"families", families_looked_at(engine)},
          {"rules", rules_of(engine).size()}};
}

std::string engines_text(const Json& engines) {
  std::string text = text_table(
      {left("engine"), left("looked at"), {"families"}, {"rules"}, left("source")}, engines.size(),
      [&](std::size_t row, std::size_t column) -> std::string {
        constexpr std::array keys = {"engine", "looked_at", "families", "rules", "source"};
        const Json& cell = engines[row].at(keys[column]);
        return cell.is_string() ? cell.get<std::string>() : dumped(cell);
      });
  for (const Json& engine : engines) {
    const auto releases = engine.at("releases").get<std::vector<std::string>>();
    if (!releases.empty())
      text += fmt::format("\nreleases of {}: {}\n", engine.at("engine").get<std::string>(),
                          fmt::join(releases, ", "));
  }
  return text;
}

std::string run_models(const Arguments& arguments, OutputForm form) {
  if (arguments.engines) {
    const Json engines = json_array(all_engines, engine_json);
    if (form == OutputForm::text) return engines_text(engines);
    return printed({{"schema_version", 1}, {"engines", engines}});
  }
  const Action action = arguments.action;
  const bool is_show = action == Action::show;
  require(arguments.text || !(is_show || action == Action::search),
          "`rotary models {0}` needs {1}: rotary models {0} {1}", is_show ? "show" : "search",
          is_show ? "NAME" : "TEXT");
  const std::string text = arguments.text.value_or("");
  if (action == Action::families) {
    const std::vector<FamilyInfo> families = families_with(text);
    if (form == OutputForm::text) return families_text(families);
    return printed({{"schema_version", 1}, {"families", json_array(families, family_json)}});
  }
  if (action == Action::rules) {
    const std::vector<const DialectRule*> rules = rules_with(text);
    if (form == OutputForm::text) return rules_text(rules);
    return printed({{"schema_version", 1}, {"rules", json_array(rules, rule_json)}});
  }
  const std::vector<const ModelCard*> cards =
      is_show ? std::vector{find_model_card(text)} : cards_with(text);
  if (is_show && cards.front() == nullptr)
    fail_usage("no model card is called '{}'{}", text, near_card_names_text(text));
  if (cards.empty())
    print_warnings("models",
                   std::vector{fmt::format("no card has '{}' in its name, model_type or source{}",
                                           text, near_card_names_text(text))});
  if (form == OutputForm::text && is_show) return std::string(cards.front()->json);
  Json models = json_array(cards, [&](const ModelCard* card) { return card_json(*card, action); });
  std::vector<TextRow> rows;
  for (const Json& card : models) rows.push_back(card_cells(card));
  if (form == OutputForm::text)
    return text_table(
        {left("name"), left("model_type"), {"context"}, {"base"}, left("rope_type"), {"layers"}},
        rows);
  return printed({{"schema_version", 1}, {"models", std::move(models)}});
}

void declare(OptionParser& parser, Arguments& arguments) {
  parser.add("ACTION", arguments.action, action(),
             "search, show, families or rules (list every card)");
  parser.add(
      "TEXT", arguments.text,
      "of search: part of a name, a model_type or a source, in any case; of show: the "
      "card's name; of families: part of a model_type, an encoding or a note; of rules: an engine "
      "or part of a rule");
  parser.add("--engines", arguments.engines,
             "the engines of rotary diff --between: which releases were checked, when, and for "
             "how many families");
  parser.alone("--engines");
}

}  // namespace
}  // namespace models_call

constinit const Command models_command{
    .name = "models",
    .summary = "List, search and print the configs inside the tool",
    .examples =
        "  rotary models\n"
        "  rotary models search qwen\n"
        "  rotary models show llama-3.1-8b\n"
        "  rotary models families gemma\n"
        "  rotary models rules vllm\n"
        "  rotary models --engines\n"
        "  rotary inspect llama-3.1-8b\n"
        "  rotary models --json | jq -r '.models[] | select(.error == null).name'\n",
    .declare = declared<models_call::declare, models_call::run_models>,
};

}  // namespace rotary::cli
