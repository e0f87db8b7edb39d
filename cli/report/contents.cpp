// SPDX-License-Identifier: Apache-2.0
#include "cli/report/contents.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "apps/failure.hpp"
#include "cli/arguments.hpp"
#include "cli/commands/inspection_json.hpp"
#include "cli/commands/model_text.hpp"
#include "cli/hidden_size.hpp"
#include "cli/plot/figures.hpp"
#include "rotary/version.hpp"

namespace rotary::cli::page {
namespace {

// Rounds to the digits that figures need. Writes whole numbers without ".0", to save bytes.
void shorten_numbers(Json& json) {
  if (json.is_structured()) {
    for (Json& element : json) shorten_numbers(element);
  } else if (json.is_number_float()) {
    const double rounded = rounded_to_digits(json.get<double>(), 7);
    json = rounded;
    if (std::abs(rounded) < 1e7 && rounded == std::trunc(rounded))
      json = static_cast<std::int64_t>(rounded);
  }
}

constexpr std::int64_t first_context = 512;  // tokens
constexpr std::int64_t least_last = 131072;  // a page has contexts up to at least this
constexpr std::int64_t beyond_trained = 4;   // or this many times the longest stated context
constexpr std::size_t most_pairs = 4096;     // some figures compute each 100,000 times
constexpr std::int64_t most_context = std::int64_t{1} << 40;

template <class Use>
void for_each_rotary(const std::vector<NamedModel>& models, Use use) {
  for (const NamedModel& named : models)
    for (const ModelRotary& rotary : named.model.rotary) use(rotary, named.name);
}

// Powers of two, and the lengths in configs and options.
std::vector<std::int64_t> contexts_of(const std::vector<NamedModel>& models, std::int64_t asked) {
  std::set<std::int64_t> contexts = {asked};
  std::int64_t last = std::max(least_last, std::min(asked, most_context));
  for_each_rotary(models, [&](const ModelRotary& rotary, const std::string&) {
    if (!rotary.trained_context_tokens) return;
    const std::int64_t tokens = *rotary.trained_context_tokens;
    contexts.insert(tokens);
    last = std::max(last, std::min(tokens, most_context / beyond_trained) * beyond_trained);
  });
  for (std::int64_t tokens = first_context; tokens <= last; tokens *= 2) contexts.insert(tokens);
  return {contexts.begin(), contexts.end()};
}

// Calls use() once for each range of contexts in which the embedding has the same frequencies.
template <class Use>
void for_each_range(const ModelRotary& rotary, const std::string& name,
                    const std::vector<std::int64_t>& contexts, Use use) {
  std::optional<ContextRange> seen;
  for (const std::int64_t tokens : contexts) {
    if (seen && seen->contains(tokens)) continue;
    Frequencies frequencies = value_or_fail(make_frequencies(rotary.spec, tokens), name);
    seen = frequencies.contexts;
    use(std::move(frequencies));
  }
}

constexpr std::int64_t last_distance = 1000;  // tokens

struct Choice {
  std::string_view section;  // section of the page
  std::string_view figure;   // name for `rotary plot`
  std::optional<std::int64_t> last = {};
  std::string_view remark = {};  // follows the figure's title
};

Json placed_figure(const Choice& choice, const std::vector<plot::Subject>& subjects) {
  const plot::FigureMaker& maker =
      choose_by(&plot::FigureMaker::name, "the figure", choice.figure, plot::figure_makers());
  plot::Figure figure = maker.make({.subjects = subjects, .last = choice.last});
  figure.title += choice.remark;
  Json json = figure;
  shorten_numbers(json);
  return {{"section", choice.section}, {"figure", std::move(json)}};
}

constexpr std::array of_rotary = {Choice{"context", "wavelengths"}, Choice{"scaling", "scaling"},
                                  Choice{"distance", "similarity", last_distance},
                                  Choice{"distance", "decay", last_distance},
                                  Choice{"accuracy", "numerics"}};

// Patches have neither a distance in tokens nor a context.
constexpr std::array of_patches = {Choice{"axes", "axes"}, Choice{"accuracy", "numerics"}};

// Figures of an encoding that does not rotate. They show usual or example numbers of its kind, not
// those of the model.
Json figures_of_kind(LayerEncoding kind) {
  constexpr std::string_view usual = " (the usual numbers, which a config may change)";
  constexpr std::string_view example = " (an example)";
  Json figures = Json::array();
  const auto add = [&](std::string_view name, std::string_view remark) {
    figures.push_back(placed_figure({"distance", name, last_distance, remark}, {}));
  };
  if (kind == LayerEncoding::alibi) add("alibi", example);
  if (kind == LayerEncoding::t5_bias) add("t5", usual);
  if (kind == LayerEncoding::sinusoidal) add("sinusoidal", example);
  return figures;
}

Json range_json(ContextRange contexts, const std::vector<double>& inv_freq, Json figures) {
  const auto [first, last] = contexts;
  return {{"first", first},
          {"last", last == ContextRange{}.last ? Json() : Json(last)},
          {"inv_freq", inv_freq},
          {"figures", std::move(figures)}};
}

// subject: complete except for the frequencies, which depend on the context.
Json ranges_of(const ModelRotary& rotary, plot::Subject subject,
               const std::vector<std::int64_t>& contexts) {
  Json ranges = Json::array();
  std::vector<Choice> choices(of_rotary.begin(), of_rotary.end());
  if (rotary.spec.axes) choices.push_back({"axes", "axes"});
  if (begins_anew_on_axes(rotary.spec)) choices.assign(of_patches.begin(), of_patches.end());
  for_each_range(rotary, subject.name, contexts, [&](Frequencies frequencies) {
    subject.frequencies = std::move(frequencies);
    const auto figure = [&](const Choice& choice) { return placed_figure(choice, {subject}); };
    ranges.push_back(range_json(subject.frequencies.contexts, subject.frequencies.inv_freq,
                                json_array(choices, figure)));
  });
  return ranges;
}

// The kinds of encodings that do not rotate, each once. Counts NoPE only if no layer rotates.
std::vector<LayerEncoding> other_kinds(const ModelSpec& model) {
  std::vector<LayerEncoding> kinds;
  for (const LayerGroup& group : layer_groups(model)) {
    const bool decides = group.encoding != LayerEncoding::rotary &&
                         group.encoding != LayerEncoding::no_attention &&
                         (group.encoding != LayerEncoding::none || model.rotary.empty());
    if (decides && std::ranges::find(kinds, group.encoding) == kinds.end()) {
      kinds.push_back(group.encoding);
    }
  }
  return kinds;
}

std::vector<std::string> layer_lines(const ModelSpec& model) {
  const std::vector<LayerGroup> groups = layer_groups(model);
  std::vector<std::string> lines;
  if (groups.size() < 2) return lines;
  for (const LayerGroup& group : groups) {
    lines.push_back(fmt::format("layers {}: {}{}{}", fmt::join(group.runs, ", "), group.kind,
                                group.temperature.empty() ? "" : ", ", group.temperature));
  }
  return lines;
}

// Returns the model's entry in the member configs. Adds the model's encodings to `subjects`.
Json config_json(const NamedModel& named, std::optional<std::int64_t> asked_context,
                 const std::vector<std::int64_t>& contexts, Json& subjects) {
  const ModelSpec& model = named.model;
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < model.rotary.size(); ++i) {
    const ModelRotary& rotary = model.rotary[i];
    const auto tokens = asked_context ? asked_context : rotary.trained_context_tokens;
    const Frequencies frequencies =
        value_or_fail(make_frequencies(rotary.spec, tokens.value_or(1)), named.name);
    for (std::string& sentence : rotary_sentences(model, i, frequencies))
      if (!sentence.empty()) sentences.push_back(std::move(sentence));
    std::string name = named.name;
    if (model.rotary.size() > 1 && rotary.layer_type) name += ", " + *rotary.layer_type;
    const plot::Subject subject{.name = name,
                                .spec = rotary.spec,
                                .frequencies = frequencies,
                                .trained_context_tokens = rotary.trained_context_tokens,
                                .hidden_size = hidden_size_of(named.file.json, named.options)};
    Json formula;  // the page computes frequencies from it
    if (!begins_anew_on_axes(rotary.spec))
      formula = {{"base", rotary.spec.base.get()},
                 {"rotary_dim", frequencies.window.rotary_dim},
                 {"rope_type", rope_type(rotary.spec.scaling)},
                 {"parameters", scaling_json(rotary.spec.scaling)}};
    subjects.push_back({{"name", name},
                        {"kind", to_string(LayerEncoding::rotary)},
                        {"trained_context_tokens", rotary.trained_context_tokens},
                        {"of_patches", begins_anew_on_axes(rotary.spec)},
                        {"fields", rotary_fields(model, i, frequencies)},
                        {"formula", std::move(formula)},
                        {"ranges", ranges_of(rotary, subject, contexts)}});
  }
  for (const LayerEncoding kind : other_kinds(model)) {
    sentences.push_back(encoding_sentence(kind));
    subjects.push_back(
        {{"name",
          model.rotary.empty() ? named.name : fmt::format("{}, {}", named.name, to_string(kind))},
         {"kind", to_string(kind)},
         {"trained_context_tokens", nullptr},
         {"of_patches", false},
         {"fields", encoding_fields(model, kind)},
         {"ranges", Json::array({range_json({}, {}, figures_of_kind(kind))})}});
  }
  return {{"name", named.name},         {"summary", summary_text(model)},
          {"sentences", sentences},     {"layers", layer_lines(model)},
          {"warnings", model.warnings}, {"keys", key_rows(named)}};
}

// Says whether a later model and the first one can use each other's cached keys. Compares only
// models with one embedding.
std::vector<std::string> cache_remarks(const std::vector<NamedModel>& models,
                                       std::int64_t context_tokens) {
  std::vector<std::string> remarks;
  for (std::size_t i = 1; i < models.size(); ++i) {
    const NamedModel& one = models[0];
    const NamedModel& other = models[i];
    if (one.model.rotary.size() != 1 || other.model.rotary.size() != 1) continue;
    const auto of = [&](const NamedModel& named) {
      return value_or_fail(make_frequencies(named.model.rotary[0].spec, context_tokens),
                           named.name);
    };
    const auto depends = [](const NamedModel& named) {
      return depends_on_context(named.model.rotary[0].spec.scaling);
    };
    const std::string where =
        depends(one) || depends(other) ? fmt::format(" at {} tokens", context_tokens) : "";
    const bool alike = rotate_alike(of(one), of(other));
    remarks.push_back(fmt::format(
        "{} and {} {}rotate equally{}: keys rotated under one are {} for queries of the other.",
        one.name, other.name, alike ? "" : "do not ", where, alike ? "right" : "wrong"));
  }
  return remarks;
}

}  // namespace

// The parts of the page before and after its data (embed.cmake).
std::array<std::string_view, 2> page_parts() noexcept;

std::string page_with(std::string_view json) {
  const auto [before, after] = page_parts();
  std::string page(before);
  page.reserve(page.size() + json.size() + after.size());
  // JSON has '<', '>' and '&' only in strings, where a \u escape means the same.
  for (const char c : json)
    page += c == '<' || c == '>' || c == '&' ? fmt::format("\\u{:04x}", static_cast<unsigned>(c))
                                             : std::string(1, c);
  return page.append(after);
}

Json make_contents(const std::vector<NamedModel>& models,
                   std::optional<std::int64_t> context_tokens) {
  std::int64_t longest = 0;  // in a config
  for_each_rotary(models, [&](const ModelRotary& rotary, const std::string&) {
    longest = std::max(longest, rotary.trained_context_tokens.value_or(0));
  });
  constexpr std::int64_t common = 8192;
  const std::int64_t context = context_tokens.value_or(longest > 0 ? longest : common);
  const std::vector<std::int64_t> contexts = contexts_of(models, context);
  std::size_t pairs = 0;
  for_each_rotary(models, [&](const ModelRotary& rotary, const std::string& name) {
    for_each_range(rotary, name, contexts, [&](const Frequencies& frequencies) {
      pairs += frequencies.inv_freq.size();
      require(pairs <= most_pairs,
              "a report must be about at most {} pairs of features that turn, over its "
              "configs, their layer types and the contexts with frequencies of their own, "
              "got {} or more",
              most_pairs, pairs);
    });
  });
  Json subjects = Json::array();
  Json configs = json_array(models, [&](const NamedModel& named) {
    return config_json(named, context_tokens, contexts, subjects);
  });
  return {{"version", ROTARY_VERSION_STRING},
          {"context", context},
          {"stops", contexts},
          {"configs", std::move(configs)},
          {"subjects", std::move(subjects)},
          {"remarks", cache_remarks(models, context)}};
}

}  // namespace rotary::cli::page
