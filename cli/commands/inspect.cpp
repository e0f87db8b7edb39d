// SPDX-License-Identifier: Apache-2.0
// rotary inspect: what a model's config.json says about positions, for a person or as JSON.
#include <initializer_list>
#include <iterator>
#include <variant>

#include "cli/commands/commands.hpp"
#include "cli/commands/model_text.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/sinusoidal.hpp"

namespace rotary::cli {
namespace {

constexpr std::size_t label_width = 18;
constexpr std::size_t text_width = 64;  // of what follows the label
constexpr std::size_t line_width = 88;

struct Inspection {
  ModelSpec model;
  std::vector<Frequencies> frequencies = {};  // one for each of model.rotary
  std::optional<std::int64_t> context_tokens;
};

// Frequencies are those of the context that was asked for, otherwise of the trained one; a model
// that states neither is asked about its shortest.
Inspection inspect(const ModelOptions& options) {
  const ResolveOptions resolving = resolve_options(options);
  Inspection found{.model = read_model(options.config, resolving),
                   .context_tokens = resolving.context_tokens};
  for (const ModelRotary& rotary : found.model.rotary) {
    const auto context =
        found.context_tokens ? found.context_tokens : rotary.trained_context_tokens;
    found.frequencies.push_back(
        value_or_fail(make_frequencies(rotary.spec, context.value_or(1)), "config"));
  }
  return found;
}

// A mark that does not fit behind the text stands below it.
std::string line(std::string_view label, std::string_view text, std::string_view mark = {}) {
  const bool fits = mark.empty() || label_width + 2 + text.size() + mark.size() <= line_width;
  const std::string margin(fits ? 0 : label_width + 1, ' ');
  return fmt::format("  {:<{}}{}{}{}{}\n", label, label_width, text, fits ? "" : "\n", margin,
                     mark);
}

// "a, b, c" broken into lines behind the label.
std::string wrapped(std::string_view label, const std::vector<std::string>& words) {
  std::string text = fmt::format("  {:<{}}", label, label_width);
  std::size_t used = 0;
  for (const std::string& word : words) {
    const bool is_last = &word == &words.back();
    const bool fits = used == 0 || used + word.size() + (is_last ? 1 : 2) <= text_width;
    if (!fits) text += fmt::format("\n{:{}}", "", label_width + 2);
    if (!fits) used = 0;
    const std::string part = fmt::format("{}{}{}", used == 0 ? "" : " ", word, is_last ? "" : ",");
    text += part;
    used += part.size();
  }
  return text + "\n";
}

// One paragraph for each kind of layer, with the layers of that kind; "" when all rotate alike and
// no query grows, because then the embeddings say it all.
std::string layers_text(const ModelSpec& model) {
  std::vector<LayerGroup> groups = layer_groups(model);
  const bool is_plain = groups.size() == 1 && groups.front().temperature.empty() &&
                        groups.front().encoding == LayerEncoding::rotary;
  if (groups.empty() || is_plain) return {};
  std::string text = "\n";
  for (LayerGroup& group : groups) {
    group.runs.front() = (model.encoder ? "decoder layers " : "layers ") + group.runs.front();
    group.runs.back() += groups.size() == 1 ? origin_mark(model.sources, {"encoding"})
                                            : origin_mark(model.sources, {"layer_types"});
    text += wrapped(group.kind, group.runs);
    if (group.temperature.empty()) continue;
    text += line("", group.temperature, origin_mark(model.sources, {"query_temperature"}));
  }
  return text;
}

std::string encoder_text(const ModelEncoder& encoder) {
  const SinusoidalSpec& spec = encoder.sinusoidal;
  const Sinusoidal table = value_or_fail(make_sinusoidal(spec), "config");
  const auto mark = [&](std::string_view value) { return origin_mark(encoder.sources, {value}); };
  std::string text = line("sinusoidal", fmt::format("encoder layers 0-{}", encoder.layers - 1));
  const std::int64_t half = spec.dim / 2;
  text += line("features",
               fmt::format("{} of each token: {} sines, then {} cosines", spec.dim, half, half),
               mark("sinusoidal"));
  text += line("base", fmt::format("{}", spec.base.get()), mark("sinusoidal"));
  text += line("spacing",
               fmt::format("{}: angles of position x base^(-k / {}), k = 0 to {}",
                           to_string(spec.spacing.get()), half - 1, half - 1),
               mark("sinusoidal"));
  text += line("wavelengths", wavelengths_text(table.inv_freq));
  if (encoder.positions)
    text += line("positions", fmt::format("{}", *encoder.positions), mark("positions"));
  return text;
}

// The rule, then its parameters, one a line.
std::string rule_lines(const ModelRotary& rotary) {
  const Scaling& scaling = rotary.spec.scaling;
  std::string text = line("rule", rope_type(scaling), origin_mark(rotary.sources, {"rope_type"}));
  for (const auto& [facts, value] : scaling_parameters(scaling)) {
    text += line("", fmt::format("  {} = {}", facts.name, parameter_text(value)),
                 origin_mark(rotary.sources, {facts.name}));
  }
  return text;
}

// The first pair, the last and six between.
std::string pairs_table(const Frequencies& frequencies, std::optional<std::int64_t> tokens) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "\n  {:>4}  {:>12}  {:>18}", "pair", "inv_freq", "wavelength, tokens");
  if (tokens) fmt::format_to(out, "  {:>20}", fmt::format("turns within {}", *tokens));
  text += '\n';
  const std::size_t last = frequencies.inv_freq.size() - 1;
  const std::size_t steps = std::min<std::size_t>(last, 7);
  for (std::size_t step = 0; step <= steps; ++step) {
    const std::size_t pair = steps == 0 ? 0 : step * last / steps;
    const double inv_freq = frequencies.inv_freq[pair];
    fmt::format_to(out, "  {:>4}  {:>12.6g}  {:>18}", pair, inv_freq,
                   plain(wavelength_tokens(inv_freq)));
    if (tokens) fmt::format_to(out, "  {:>20}", plain(turns_within(inv_freq, *tokens)));
    text += '\n';
  }
  return text;
}

// "contexts of 1 to 4096 tokens".
std::string contexts_text(const ContextRange& contexts) {
  if (contexts.first == contexts.last)
    return fmt::format("a context of {} tokens alone", contexts.first);
  if (contexts.last == ContextRange{}.last)
    return fmt::format("contexts of {} tokens and more", contexts.first);
  return fmt::format("contexts of {} to {} tokens", contexts.first, contexts.last);
}

// The spec, a line for each member.
std::string spec_lines(const ModelRotary& rotary, const HeadWindow& window) {
  const auto mark = [&](std::initializer_list<std::string_view> values) {
    return origin_mark(rotary.sources, values);
  };
  std::string text = line("pairing", to_string(window.pairing), mark({"pairing"}));
  text += line("", "  " + pairing_text(window));
  if (rotary.spec.sense == Sense::negative)
    text += line("sense", "negative: pairs turn by -position x |inv_freq|", mark({"sense"}));
  text += line("head_dim", fmt::format("{}", window.head_dim), mark({"head_dim"}));
  text += line("features", window_text(window, rotary.nope_head_dim),
               mark({"rotary_dim", "first_feature", "nope_head_dim"}));
  if (!rotary.sections.empty()) {
    text += line("sections",
                 fmt::format("{} pairs for the axes of an image; one number in text",
                             fmt::join(rotary.sections, ", ")),
                 mark({"sections"}));
  }
  text += line("base", fmt::format("{}", rotary.spec.base.get()), mark({"base"}));
  text += rule_lines(rotary);
  if (rotary.spec.numerics == Numerics::exact) return text;
  return text + line("numerics", numerics_text(rotary.spec), mark({"rounding"}));
}

std::string rotary_text(const Inspection& inspection, std::size_t index) {
  const ModelSpec& model = inspection.model;
  const ModelRotary& rotary = model.rotary[index];
  const Frequencies& frequencies = inspection.frequencies[index];
  const auto trained = rotary.trained_context_tokens;
  std::string text = "\n";
  if (rotary.layer_type) {
    text +=
        fmt::format("{}: {}{}\n\n", printable(*rotary.layer_type), layers_with_rotary(model, index),
                    origin_mark(model.sources, {"layer_types"}));
  }
  text += spec_lines(rotary, frequencies.window);
  if (depends_on_context(rotary.spec.scaling))
    text += line("holds for", contexts_text(frequencies.contexts) + "; --context shows another");
  text += line("attention factor", attention_text(rotary, frequencies.attention_factor));
  text += line("wavelengths", wavelengths_text(frequencies.inv_freq));
  text += line(
      "trained context",
      trained ? turning_text(frequencies, *trained) : "not in the config (max_position_embeddings)",
      origin_mark(rotary.sources, {"trained_context_tokens"}));
  if (inspection.context_tokens)
    text += line("your context", turning_text(frequencies, *inspection.context_tokens));
  return text + pairs_table(frequencies, trained);
}

std::string text_of(const Inspection& inspection) {
  const ModelSpec& model = inspection.model;
  std::string text = printable(summary_text(model)) + "\n";
  if (!model.config_part.empty())
    text += fmt::format("read from {}, the config of the language model\n", model.config_part);
  text += layers_text(model);
  if (model.encoder) text += fmt::format("\n{}", encoder_text(*model.encoder));
  if (model.dual_chunk) text += "\n" + line("position map", dual_chunk_text(*model.dual_chunk));
  if (model.softcap)
    text += "\n" + line("scores", fmt::format("capped: {0} tanh(score / {0})", *model.softcap),
                        origin_mark(model.sources, {"softcap"}));
  for (std::size_t i = 0; i < model.rotary.size(); ++i) text += rotary_text(inspection, i);
  const std::string legend = marks_legend(text);
  return text + (legend.empty() ? "" : "\nNot stated by the config:\n" + legend);
}

Json sources_json(const std::vector<ValueSource>& sources) {
  Json json = Json::object();
  for (const auto& [value, origin, key] : sources)
    json[value] = {{"origin", to_string(origin)}, {"key", text_or_null(key)}};
  return json;
}

Json scaling_json(const Scaling& scaling) {
  Json json = Json::object();
  for (const auto& [facts, value] : scaling_parameters(scaling))
    json[facts.name] = std::visit([](const auto& held) { return Json(held); }, value);
  return json;
}

Json rotary_json(const Inspection& inspection, std::size_t index) {
  const ModelRotary& rotary = inspection.model.rotary[index];
  const Frequencies& frequencies = inspection.frequencies[index];
  const HeadWindow& window = frequencies.window;
  const ContextRange& contexts = frequencies.contexts;
  const bool is_open = contexts.last == ContextRange{}.last;
  const auto turning_within = [&](std::optional<std::int64_t> tokens) {
    return tokens ? Json(pairs_that_turn(frequencies, *tokens)) : Json();
  };
  return {
      {"layer_type", rotary.layer_type},
      {"head_dim", window.head_dim},
      {"rotary_dim", window.rotary_dim},
      {"first_feature", window.first_feature},
      {"pairing", to_string(window.pairing)},
      {"sense", to_string(rotary.spec.sense)},
      {"nope_head_dim", rotary.nope_head_dim},
      {"sections", rotary.sections},
      {"numerics", to_string(rotary.spec.numerics)},
      {"rounding", to_string(rotary.spec.rounding)},
      {"base", rotary.spec.base.get()},
      {"rope_type", rope_type(rotary.spec.scaling)},
      {"scaling", scaling_json(rotary.spec.scaling)},
      {"attention_factor", frequencies.attention_factor},
      {"softmax_factor", rotary.softmax_factor},
      {"inv_freq", frequencies.inv_freq},
      {"wavelength_tokens", json_array(frequencies.inv_freq, wavelength_tokens)},
      {"context_tokens", inspection.context_tokens},
      {"contexts", {{"first", contexts.first}, {"last", is_open ? Json() : Json(contexts.last)}}},
      {"trained_context_tokens", rotary.trained_context_tokens},
      {"pairs_turning_in_trained_context", turning_within(rotary.trained_context_tokens)},
      {"pairs_turning_in_context", turning_within(inspection.context_tokens)},
      {"sources", sources_json(rotary.sources)}};
}

Json layer_json(const ModelLayer& layer) {
  Json json = {{"encoding", to_string(layer.encoding)}};
  if (layer.encoding == LayerEncoding::rotary) json["rotary"] = layer.rotary;
  if (const auto* const step = std::get_if<StepTemperature>(&layer.query_temperature)) {
    json["query_temperature"] = {{"rule", "step"},
                                 {"scale", step->scale},
                                 {"interval_tokens", step->interval_tokens},
                                 {"offset", step->offset}};
  } else if (const auto* const logn = std::get_if<LognTemperature>(&layer.query_temperature)) {
    json["query_temperature"] = {{"rule", "logn"}, {"trained_tokens", logn->trained_tokens}};
  } else if (const auto* const power = std::get_if<PowerTemperature>(&layer.query_temperature)) {
    json["query_temperature"] = {{"rule", "power"},
                                 {"exponent", power->exponent},
                                 {"interval_tokens", power->interval_tokens}};
  }
  return json;
}

Json encoder_json(const ModelEncoder& encoder) {
  const SinusoidalSpec& spec = encoder.sinusoidal;
  return {{"encoding", to_string(encoder.encoding)},
          {"layers", encoder.layers},
          {"dim", spec.dim},
          {"base", spec.base.get()},
          {"layout", to_string(spec.layout.get())},
          {"spacing", to_string(spec.spacing.get())},
          {"inv_freq", value_or_fail(make_sinusoidal(spec), "config").inv_freq},
          {"positions", encoder.positions},
          {"sources", sources_json(encoder.sources)}};
}

Json position_map_json(const DualChunk& map) {
  return {{"map", "dual_chunk"}, {"chunk", map.chunk}, {"local", map.local}};
}

Json json_of(const Inspection& inspection) {
  const ModelSpec& model = inspection.model;
  Json rotary = Json::array();
  for (std::size_t i = 0; i < model.rotary.size(); ++i)
    rotary.push_back(rotary_json(inspection, i));
  return {{"schema_version", 1},
          {"model_type", text_or_null(model.model_type)},
          {"config_part", text_or_null(model.config_part)},
          {"rotary", std::move(rotary)},
          {"layers", json_array(model.layers, layer_json)},
          {"encoder", model.encoder ? encoder_json(*model.encoder) : Json()},
          {"position_map", model.dual_chunk ? position_map_json(*model.dual_chunk) : Json()},
          {"softcap", model.softcap},
          {"sources", sources_json(model.sources)},
          {"warnings", model.warnings}};
}

Run declare(OptionParser& parser) {
  const auto options = std::make_shared<ModelOptions>();
  parser.add("CONFIG", options->config, std::string(config_help)).required();
  declare_model_options(parser, *options);
  return [options](OutputForm form) {
    const Inspection inspection = inspect(*options);
    print_warnings("inspect", inspection.model.warnings);
    return form == OutputForm::json ? printed(json_of(inspection)) : text_of(inspection);
  };
}

}  // namespace

constinit const Command inspect_command{
    .name = "inspect",
    .summary = "Show what a model's config says about positions",
    .examples =
        "  rotary inspect config.json\n"
        "  rotary inspect config.json --context 32768\n"
        "  rotary inspect llama-3.1-8b\n"
        "  rotary inspect config.json --json | jq '.rotary[0].inv_freq'\n"
        "  curl -s https://example.com/model/config.json | rotary inspect -\n",
    .declare = declare,
};

}  // namespace rotary::cli
