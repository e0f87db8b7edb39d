// SPDX-License-Identifier: Apache-2.0
// rotary explain: explains the rotary embedding or a config with the user's own numbers. This file
// reads the command line. The topics are in cli/explain/.
#include <cmath>

#include "cli/commands/commands.hpp"
#include "cli/explain/explain_config.hpp"
#include "cli/explain/topics.hpp"
#include "cli/hidden_size.hpp"
#include "cli/model_cards.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::cli {
namespace explain_call {
namespace {

constexpr std::size_t most_values = 4096;  // more than any head

// A topic may use a query, or a query and a key, or no numbers.
struct Topic {
  std::string_view name;
  bool has_numbers = true;
  bool has_key = true;
  std::string (*explain)(const explain::Numbers& numbers, OutputForm form) = nullptr;
};

constexpr Topic rotation = {"rotation", true, false, explain::explain_rotation};
constexpr Topic config_topic = {"config", false, false};
constexpr std::array<Topic, 6> topics = {{
    rotation,
    {"forms", true, false, explain::explain_forms},
    {"derivation", true, true, explain::explain_derivation},
    {"relative", true, true, explain::explain_relative},
    {"mistakes", true, true, explain::explain_mistakes},
    {"example", false, false},
}};

struct Arguments {
  std::optional<std::string> name;    // a topic or a config
  std::optional<std::string> config;  // after a topic
  std::optional<explain::Vector> values, key;
  std::optional<std::int64_t> position, key_position;
  std::optional<double> base;
  std::optional<std::string> layer_type;
  ModelOptions model;  // run_explain() sets its config
};

Topic topic_named(const std::string& name) {
  const auto* const topic = std::ranges::find(topics, name, &Topic::name);
  if (topic != topics.end()) return *topic;
  const auto card = std::ranges::find_if(model_cards(), [&](const ModelCard& each) {
    return each.json.find(fmt::format("\"{}\"", name)) != std::string_view::npos;
  });
  const std::string names = names_text(topics, &Topic::name);
  if (card != model_cards().end() && near_card_names(name).empty())
    fail_usage(
        "NAME must be a config or a topic ({}), got '{}', a word of configs: `rotary explain {}` "
        "says what it does there",
        names, name, card->name);
  fail_unknown_card(name, "; nor is it a topic: " + names);
}

// Without a topic, explains a config's keys, or the rotation if numbers are given.
Topic topic_of(const Arguments& a) {
  if (!a.name) return rotation;
  if (a.config || !names_config(*a.name)) return topic_named(*a.name);
  return a.values || a.position ? rotation : config_topic;
}

std::optional<std::string> config_of(const Arguments& a) {
  return a.config || !a.name || !names_config(*a.name) ? a.config : a.name;
}

explain::Numbers without_config(const Arguments& arguments) {
  const std::size_t count =
      arguments.values ? arguments.values->size() : std::size(explain::example_values);
  require(count % 2 == 0 && count <= most_values,
          "--values must be an even count, at most {}, got {}", most_values, count);
  const RotarySpec spec{
      .head_dim = static_cast<std::int64_t>(count),
      .base = arguments.base.value_or(10000),
      .pairing = arguments.model.resolving.pairing.value_or(Pairing::interleaved)};
  return {.spec = spec, .frequencies = value_or_fail(make_frequencies(spec))};
}

explain::Numbers with_config(const Arguments& arguments) {
  const ConfigFile config = read_config(arguments.model.config);
  const ResolveOptions& resolving = arguments.model.resolving;
  const ModelSpec model = model_of(config, arguments.model.config, resolving);
  print_warnings("explain", model.warnings);
  const std::size_t chosen = choose_rotary(model, {.layer_type = arguments.layer_type});
  const RotarySpec& spec = model.rotary[chosen].spec;
  require(spec.head_dim <= static_cast<std::int64_t>(most_values),
          "head_dim must be at most {} to be explained, got {}", most_values, spec.head_dim);
  return {.spec = spec,
          .frequencies = frequencies_of(model, chosen, arguments.model),
          .config = arguments.model.config,
          .hidden_size = hidden_size_of(config.json, resolving)};
}

// Without --values, repeats the example's four numbers.
explain::Vector query_of(const Arguments& arguments, std::int64_t head_dim) {
  const auto features = static_cast<std::size_t>(head_dim);
  explain::Vector query;
  if (arguments.values)
    query = *arguments.values;
  else
    for (std::size_t i = 0; i < features; ++i)
      query.push_back(explain::example_values[i % std::size(explain::example_values)]);
  require(query.size() == features, "--values must be the {} features of a head, got {}", features,
          query.size());
  return query;
}

// Topics that move tokens need room on both sides of the position.
void check_room(std::string_view option, std::int64_t position) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  require(-most <= position && position <= most,
          "{} must be in [-2^62, 2^62] for this topic, got {}", option, position);
}

// Without CONFIG, --values needs --pairing, and the rotation needs --values and --position. Default
// numbers are the example's. The default key is the reversed query.
explain::Numbers read_numbers(const Arguments& arguments, const Topic& topic) {
  const bool has_config = !arguments.model.config.empty();
  const bool is_rotation = topic.name == rotation.name;
  require(has_config || !is_rotation || (arguments.values && arguments.position),
          "explain rotation needs a CONFIG, or numbers to rotate: --values 0.5,-1,1.5,2 "
          "--position 3 --pairing half");
  require(has_config || arguments.model.resolving.pairing || !(is_rotation || arguments.values),
          "--pairing is required with --values: {}",
          names_text(all_pairings, [](Pairing p) { return to_string(p); }));
  explain::Numbers numbers = has_config ? with_config(arguments) : without_config(arguments);
  numbers.query = query_of(arguments, numbers.frequencies.window.head_dim);
  numbers.query_position = arguments.position.value_or(explain::example_position);
  if (!topic.has_key) return numbers;
  check_room("--position", numbers.query_position);
  numbers.key =
      arguments.key.value_or(explain::Vector(numbers.query.rbegin(), numbers.query.rend()));
  require(numbers.key.size() == numbers.query.size(),
          "--key-values must have as many numbers as the query, {}, got {}", numbers.query.size(),
          numbers.key.size());
  numbers.key_position = arguments.key_position.value_or(numbers.query_position - 2);
  check_room("--key-position", numbers.key_position);
  return numbers;
}

std::string run_explain(Arguments& arguments, OutputForm form) {
  const Topic topic = topic_of(arguments);
  arguments.model.config = config_of(arguments).value_or("");
  if (topic.name == config_topic.name)
    return explain::explain_config(arguments.model.config, arguments.model.resolving, form);
  if (!topic.has_numbers) return explain::explain_example(form);
  return topic.explain(read_numbers(arguments, topic), form);
}

// Says which options need a topic with numbers, and which a config.
void declare_uses(OptionParser& parser, const Arguments& a) {
  const auto has_config = [&a] { return config_of(a).has_value(); };
  const auto has_numbers = [&a] { return topic_of(a).has_numbers; };
  const auto has_both = [=] { return has_config() && has_numbers(); };
  parser.only({"CONFIG", "--values", "--position"}, "every topic but example", has_numbers);
  parser.only({"--pairing"}, "every topic but example",
              [=] { return has_numbers() || has_config(); });
  parser.only({"--key-values", "--key-position"}, "derivation, relative and mistakes",
              [&a] { return topic_of(a).has_key; });
  parser.only({"--base"}, "numbers without CONFIG (with one: --set rope_theta=B)",
              [=] { return has_numbers() && !has_config(); });
  parser.only({"--context", "--set", "--key", "--overrides", "--flags", "--part"}, "a CONFIG",
              has_config);
  parser.only({"--numerics", "--layer-type"}, "numbers with a CONFIG", has_both);
}

void declare(OptionParser& parser, Arguments& arguments) {
  const Value<double> feature{.name = "",
                              .read = [](std::string_view option, std::string_view text) {
                                const double value = parse_double(option, text);
                                require(std::isfinite(static_cast<float>(value)),
                                        "{} must fit float32, got {}", option, value);
                                return value;
                              }};
  parser.add(
      "NAME", arguments.name,
      fmt::format(
          "{}: what each of its keys does; or a topic: rotation (five steps by hand), "
          "forms (matrix, complex, element-wise, rotate_half), derivation, relative (same "
          "distance, same score), mistakes (and which checks find them), example (the one "
          "that is printed everywhere, corrected). A file or a card wins. Without it: rotation",
          config_help));
  parser.add("CONFIG", arguments.config, "after a topic: the config whose rotation to explain");
  parser.add("--values X,Y,...", arguments.values, list_of(feature),
             "the features of one head, a query: an even count; with CONFIG its head_dim. A "
             "topic takes 0.5,-1,1.5,2 without it (interleaved)");
  parser.add("--position N", arguments.position, integer(), "its position: any integer (3)");
  parser.add("--key-values X,Y,...", arguments.key, list_of(feature),
             "the features of a key (the query's, reversed)");
  parser.add("--key-position N", arguments.key_position, integer(),
             "position of the key (2 before the query)");
  parser.add("--base B", arguments.base, number(), "rope_theta, without CONFIG (10000)");
  declare_layer_type(parser, arguments.layer_type);
  declare_model_options(parser, arguments.model);
  parser.replace_help(
      "--pairing",
      "which features turn together; with CONFIG for a model whose family is not known");
  declare_uses(parser, arguments);
}

}  // namespace
}  // namespace explain_call

constinit const Command explain_command{
    .name = "explain",
    .summary = "Explain rotary embedding and the keys of a config in numbers",
    .examples =
        "  rotary explain llama-3.1-8b\n"
        "  rotary explain example\n"
        "  rotary explain derivation\n"
        "  rotary explain forms --values 1,0,0,0,0,0 --position 7 --pairing half\n"
        "  rotary explain mistakes codellama-7b --position 5000\n"
        "  rotary explain --values 0.5,-1,1.5,2 --position 3 --pairing interleaved\n",
    .declare = declared<explain_call::declare, explain_call::run_explain>,
};

}  // namespace rotary::cli
