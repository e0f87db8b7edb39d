// SPDX-License-Identifier: Apache-2.0
// rotary explain: rotary embedding and a model's config, explained on the reader's own numbers.
// This file reads the command line; each topic is a file in cli/explain/.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/commands/commands.hpp"
#include "cli/explain/explain_config.hpp"
#include "cli/explain/topics.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/hidden_size.hpp"
#include "cli/model_cards.hpp"
#include "cli/model_input.hpp"
#include "cli/model_options.hpp"
#include "cli/warning.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::cli {
namespace {

constexpr std::size_t most_values = 4096;  // beyond any head

enum class Topic { config, rotation, forms, derivation, relative, mistakes, example };

constexpr std::array<std::pair<std::string_view, Topic>, 6> topics = {{
    {"rotation", Topic::rotation},
    {"forms", Topic::forms},
    {"derivation", Topic::derivation},
    {"relative", Topic::relative},
    {"mistakes", Topic::mistakes},
    {"example", Topic::example},
}};

struct Arguments {
  std::optional<std::string> name;    // a topic or a config
  std::optional<std::string> config;  // after a topic
  std::optional<std::string> values;
  std::optional<std::string> key;
  std::optional<std::string> position;
  std::optional<std::string> key_position;
  std::optional<std::string> base;
  std::optional<std::string> layer_type;
  ModelOptions model;

  [[nodiscard]] bool has_config() const { return !model.config.empty(); }
};

Topic topic_named(const std::string& name) {
  std::string names;
  for (const auto& [each, topic] : topics) {
    if (each == name) return topic;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each);
  }
  throw Failure(ExitCode::io,
                fmt::format("{}: No such file, and no model card has this name{}; nor "
                            "is it a topic: {}",
                            name, near_card_names_text(name), names));
}

// The topic; arguments.model.config becomes the config, if there is one.
Topic read_topic(Arguments& arguments) {
  if (!arguments.name) return Topic::rotation;
  if (arguments.config) {
    arguments.model.config = *arguments.config;
    return topic_named(*arguments.name);
  }
  if (!names_config(*arguments.name)) return topic_named(*arguments.name);
  arguments.model.config = *arguments.name;
  return arguments.values || arguments.position ? Topic::rotation : Topic::config;
}

// Options that would do nothing are refused: who gave one meant something.
void check_options(const Arguments& a, Topic topic) {
  const bool is_config = topic == Topic::config;
  const bool has_numbers = !is_config && topic != Topic::example;
  const bool has_key = has_numbers && topic != Topic::rotation && topic != Topic::forms;
  const bool has_config = a.has_config();
  struct Row {
    std::string_view option;
    bool given, allowed;
    std::string_view belongs_to;
  };
  const std::array<Row, 10> rows = {{
      {"CONFIG", has_config, is_config || has_numbers, "every topic but example"},
      {"--values", a.values.has_value(), has_numbers, "every topic but example"},
      {"--position", a.position.has_value(), has_numbers, "every topic but example"},
      {"--key", a.key.has_value(), has_key, "derivation, relative and mistakes"},
      {"--key-position", a.key_position.has_value(), has_key, "derivation, relative and mistakes"},
      {"--base", a.base.has_value(), has_numbers && !has_config,
       "numbers without CONFIG (with one: --set rope_theta=B)"},
      {"--pairing", a.model.pairing.has_value(), is_config || has_numbers,
       "every topic but example"},
      {"--context", a.model.context.has_value(), has_config, "a CONFIG"},
      {"--numerics", a.model.numerics.has_value(), has_config && has_numbers,
       "numbers with a CONFIG"},
      {"--set", !a.model.settings.empty(), has_config, "a CONFIG"},
  }};
  for (const auto& [option, given, allowed, belongs_to] : rows) {
    if (!given || allowed) continue;
    throw Failure(ExitCode::usage, fmt::format("{} is for {}", option, belongs_to));
  }
  if (a.layer_type && !(has_config && has_numbers)) {
    throw Failure(ExitCode::usage, "--layer-type is for numbers with a CONFIG");
  }
}

// Without CONFIG and without numbers the example's take their place; of a person's own numbers
// nobody but the person knows the pairing.
void check_numbers_are_whole(const Arguments& arguments, Topic topic) {
  if (arguments.has_config()) return;
  const bool is_rotation = topic == Topic::rotation;
  const auto need = [](bool missing, std::string_view option, std::string_view example) {
    if (!missing) return;
    throw Failure(ExitCode::usage,
                  fmt::format("{} is required without CONFIG or a topic: {}", option, example));
  };
  need(is_rotation && !arguments.values, "--values", "--values 0.5,-1,1.5,2");
  need(is_rotation && !arguments.position, "--position", "--position 3");
  if (arguments.model.pairing || !(is_rotation || arguments.values)) return;
  throw Failure(ExitCode::usage,
                "--pairing is required with --values: half, interleaved or interleaved_to_half");
}

std::vector<double> parse_vector(std::string_view option, const std::string& text) {
  std::vector<double> values = parse_doubles(option, text);
  for (const double value : values) {
    if (!std::isfinite(static_cast<float>(value))) {
      throw Failure(ExitCode::usage, fmt::format("{} must fit float32, got {}", option, value));
    }
  }
  return values;
}

// The features of a head that are given or, without --values and CONFIG, the example's.
std::int64_t features_of(const Arguments& arguments) {
  if (!arguments.values) return static_cast<std::int64_t>(std::size(explain::example_values));
  const std::size_t count = parse_vector("--values", *arguments.values).size();
  if (count % 2 != 0 || count > most_values) {
    throw Failure(ExitCode::usage, fmt::format("--values must be an even count, at most {}, got {}",
                                               most_values, count));
  }
  return static_cast<std::int64_t>(count);
}

explain::Numbers without_config(const Arguments& arguments) {
  RotarySpec spec{.head_dim = features_of(arguments),
                  .base = arguments.base ? parse_double("--base", *arguments.base) : 10000,
                  .pairing = parse_pairing(arguments.model.pairing).value_or(Pairing::interleaved)};
  Frequencies frequencies = value_or_fail(make_frequencies(spec));
  return {.query = {},
          .key = {},
          .spec = std::move(spec),
          .frequencies = std::move(frequencies),
          .config = {}};
}

explain::Numbers with_config(const Arguments& arguments) {
  const std::string config = read_config(arguments.model.config);
  const ResolveOptions resolving = resolve_options(arguments.model);
  const ModelSpec model = model_of(config, arguments.model.config, resolving);
  print_warnings("explain", model.warnings);
  const std::size_t chosen =
      choose_rotary(model, {.layer = {}, .layer_type = arguments.layer_type});
  const RotarySpec& spec = model.rotary[chosen].spec;
  if (spec.head_dim > static_cast<std::int64_t>(most_values)) {
    throw Failure(ExitCode::usage,
                  fmt::format("head_dim must be at most {} to be explained, got {}", most_values,
                              spec.head_dim));
  }
  return {.query = {},
          .key = {},
          .spec = spec,
          .frequencies = frequencies_of(model, chosen, arguments.model),
          .config = arguments.model.config,
          .hidden_size = hidden_size_of(config, resolving)};
}

// The example's four numbers over and over, where none are given.
explain::Vector query_of(const Arguments& arguments, std::int64_t head_dim) {
  const auto features = static_cast<std::size_t>(head_dim);
  explain::Vector query;
  if (arguments.values) {
    query = parse_vector("--values", *arguments.values);
  } else {
    for (std::size_t i = 0; i < features; ++i) {
      query.push_back(explain::example_values[i % std::size(explain::example_values)]);
    }
  }
  if (query.size() == features) return query;
  throw Failure(ExitCode::usage, fmt::format("--values must be the {} features of a head, got {}",
                                             features, query.size()));
}

// Reversed, the query is as good a key as any, and not the same.
explain::Vector key_of(const Arguments& arguments, const explain::Vector& query) {
  if (!arguments.key) return {query.rbegin(), query.rend()};
  explain::Vector key = parse_vector("--key", *arguments.key);
  if (key.size() == query.size()) return key;
  throw Failure(ExitCode::usage, fmt::format("--key must have as many numbers as the query, {}, "
                                             "got {}",
                                             query.size(), key.size()));
}

// Topics that move tokens need room on both sides.
std::int64_t check_room(std::string_view option, std::int64_t position) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  if (-most <= position && position <= most) return position;
  throw Failure(ExitCode::usage, fmt::format("{} must be in [-2^62, 2^62] for this topic, got {}",
                                             option, position));
}

explain::Numbers read_numbers(const Arguments& arguments, Topic topic) {
  check_numbers_are_whole(arguments, topic);
  explain::Numbers numbers =
      arguments.has_config() ? with_config(arguments) : without_config(arguments);
  numbers.query = query_of(arguments, numbers.frequencies.window.head_dim);
  numbers.query_position = arguments.position ? parse_int64("--position", *arguments.position)
                                              : explain::example_position;
  if (topic == Topic::rotation || topic == Topic::forms) return numbers;
  check_room("--position", numbers.query_position);
  numbers.key = key_of(arguments, numbers.query);
  numbers.key_position = arguments.key_position
                             ? parse_int64("--key-position", *arguments.key_position)
                             : numbers.query_position - 2;
  check_room("--key-position", numbers.key_position);
  return numbers;
}

std::string run_explain(Arguments& arguments, OutputForm form) {
  const Topic topic = read_topic(arguments);
  check_options(arguments, topic);
  switch (topic) {
    case Topic::config:
      return explain::explain_config(arguments.model.config, resolve_options(arguments.model),
                                     form);
    case Topic::rotation:
      return explain::explain_rotation(read_numbers(arguments, topic), form);
    case Topic::forms:
      return explain::explain_forms(read_numbers(arguments, topic), form);
    case Topic::derivation:
      return explain::explain_derivation(read_numbers(arguments, topic), form);
    case Topic::relative:
      return explain::explain_relative(read_numbers(arguments, topic), form);
    case Topic::mistakes:
      return explain::explain_mistakes(read_numbers(arguments, topic), form);
    case Topic::example:
      return explain::explain_example(form);
  }
  throw Failure(ExitCode::internal, "no such topic");
}

Run declare(OptionParser& parser) {
  const auto arguments = std::make_shared<Arguments>();
  parser.add(
      "NAME", arguments->name,
      fmt::format(
          "{}: what each of its keys does; or a topic: rotation (five steps by hand), "
          "forms (matrix, complex, element-wise, rotate_half), derivation, relative (same "
          "distance, same score), mistakes (and which checks find them), example (the one "
          "that is printed everywhere, and right). A file or a card wins. Without it: rotation",
          config_help));
  parser.add("CONFIG", arguments->config, "after a topic: a config whose rotation it is about");
  parser.add("--values X,Y,...", arguments->values,
             "the features of one head, a query: an even count; with CONFIG its head_dim. A "
             "topic takes 0.5,-1,1.5,2 without it (interleaved)");
  parser.add("--position N", arguments->position, "where it stands: any integer (3)");
  parser.add("--key X,Y,...", arguments->key, "the features of a key (the query's, reversed)");
  parser.add("--key-position N", arguments->key_position,
             "where the key stands (2 before the query)");
  parser.add("--base B", arguments->base, "rope_theta, without CONFIG (10000)");
  parser.add("--layer-type T", arguments->layer_type,
             "the config's name for the layers you mean, when a model has several");
  declare_model_options(parser, arguments->model);
  parser.replace_help(
      "--pairing",
      "which features turn together; with CONFIG for a model whose family is not known");
  return [arguments](OutputForm form) { return run_explain(*arguments, form); };
}

}  // namespace

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
    .declare = declare,
};

}  // namespace rotary::cli
