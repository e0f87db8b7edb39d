// SPDX-License-Identifier: Apache-2.0
// rotary inspect: shows what a model's config says about positions.
#include <initializer_list>
#include <variant>

#include "apps/printable.hpp"
#include "cli/bias_input.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/inspection_json.hpp"
#include "cli/commands/model_text.hpp"
#include "cli/model_input.hpp"
#include "rotary/absolute.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::cli {
namespace inspect_call {
namespace {

constexpr std::size_t label_width = 18;
constexpr std::size_t text_width = 64;  // after the label
constexpr std::size_t line_width = 88;

// The summary of a tower, as lines such as "heads of 80 features, half, base 10000".
std::vector<std::string> part_words(const InspectedPart& part) {
  if (!part.model) return {"not described: " + printable(part.error)};
  std::vector<std::string> words = {printable(summary_text(*part.model))};
  for (const ModelRotary& rotary : part.model->rotary) {
    words.push_back(fmt::format("heads of {} features, {}, base {}", rotary.spec.head_dim,
                                to_string(rotary.spec.pairing), rotary.spec.base.get()));
    if (rotary.spec.axes) words.push_back(axes_text(*rotary.spec.axes));
  }
  for (const LayerGroup& group : layer_groups(*part.model)) {
    if (group.encoding != LayerEncoding::rotary) words.push_back(group.kind);
  }
  words.push_back(fmt::format("--part {} shows all of it", to_string(part.info.part)));
  return words;
}

// Frequencies are for --context, else for the trained context, else for one token.
Inspection inspect(const ModelOptions& options) {
  const ResolveOptions& resolving = options.resolving;
  const ConfigFile config = read_config(options.config);
  Inspection found{.model = model_of(config, options.config, resolving),
                   .context_tokens = resolving.context_tokens,
                   .part = resolving.part};
  // The other parts are resolved without options such as --set, which are for the language model.
  if (!options.names_part && !config.gguf) {
    const auto parts = model_parts(config.json);
    for (std::size_t i = 1; parts && i < parts->size(); ++i) {
      InspectedPart& part = found.parts.emplace_back(InspectedPart{.info = (*parts)[i]});
      auto model = resolve(config.json, {.part = part.info.part});
      if (model)
        part.model = *std::move(model);
      else
        part.error = model.error().message;
    }
  }
  for (const ModelRotary& rotary : found.model.rotary) {
    const auto context =
        found.context_tokens ? found.context_tokens : rotary.trained_context_tokens;
    found.frequencies.push_back(
        value_or_fail(make_frequencies(rotary.spec, context.value_or(1)), "config"));
  }
  return found;
}

// If the mark does not fit, it goes on the next line.
std::string line(std::string_view label, std::string_view text, std::string_view mark = {}) {
  const bool fits = mark.empty() || label_width + 2 + text.size() + mark.size() <= line_width;
  const std::string margin(fits ? 0 : label_width + 1, ' ');
  return fmt::format("  {:<{}}{}{}{}{}\n", label, label_width, text, fits ? "" : "\n", margin,
                     mark);
}

// "a, b, c" after the label, broken into lines.
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

// A paragraph for each kind of layer. "" without layers, or if all rotate without a temperature.
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

std::string sinusoidal_text(const SinusoidalSpec& spec, const std::vector<ValueSource>& sources) {
  const Sinusoidal table = value_or_fail(make_sinusoidal(spec), "config");
  const std::size_t pairs = table.inv_freq.size();
  const auto mark = [&](std::string_view value) { return origin_mark(sources, {value}); };
  const bool sines_first = spec.layout == SinusoidalLayout::sin_then_cos;
  const std::string order =
      spec.layout == SinusoidalLayout::interleaved
          ? "sines and cosines in turn"
          : fmt::format("{} {}, then {} {}", pairs, sines_first ? "sines" : "cosines", spec.dim / 2,
                        sines_first ? "cosines" : "sines");
  const bool is_even = spec.spacing.get() == SinusoidalSpacing::even;
  std::string text =
      line("features", fmt::format("{} of each token: {}", spec.dim, order), mark("sinusoidal"));
  text += line("base", fmt::format("{}", spec.base.get()), mark("sinusoidal"));
  text += line("spacing",
               fmt::format("{}: angles of position x base^(-{} / {}), k = 0 to {}",
                           to_string(spec.spacing.get()), is_even ? "2k" : "k",
                           is_even ? spec.dim : static_cast<std::int64_t>(pairs) - 1, pairs - 1),
               mark("sinusoidal"));
  text += line("wavelengths", wavelengths_text(table.inv_freq, "tokens"));
  if (spec.position_offset == 0) return text;
  return text + line("first position",
                     fmt::format("{}{}", spec.position_offset,
                                 spec.zero_position ? "; padding has zeros" : ""),
                     mark("position_offset"));
}

std::string slopes_text(const Alibi& alibi, const std::vector<ValueSource>& sources) {
  const auto slopes = value_or_fail(alibi_slopes(alibi), "config");
  const bool by_key = alibi.form == AlibiForm::key_position;
  return line("slopes",
              fmt::format("{:.6g} (head 0) to {:.6g} (head {})", slopes.front(), slopes.back(),
                          slopes.size() - 1),
              origin_mark(sources, {"heads", "bias_max"})) +
         line("", by_key ? "times the key's position, added to scaled scores"
                         : "times minus the distance, added to scaled scores");
}

std::string buckets_text(const T5Bias& bias, const std::vector<ValueSource>& sources) {
  const T5Buckets& buckets = bias.buckets;
  const bool both = buckets.direction == T5Direction::bidirectional;
  T5Buckets causal = buckets;
  causal.direction = T5Direction::causal;
  const std::string in_decoder =
      both && t5_bucket(0, causal)
          ? fmt::format("; in a decoder of {}", first_of_last_bucket(causal))
          : "";
  return line("buckets",
              fmt::format("{} x {} heads, {}", buckets.buckets, bias.table.features,
                          both ? "half for keys after the query; in a decoder none"
                               : "none for keys after the query"),
              origin_mark(sources, {"buckets", "heads"})) +
         line("last bucket",
              fmt::format("from a distance of {} on{}", first_of_last_bucket(buckets), in_decoder),
              origin_mark(sources, {"max_distance"}));
}

// Describes encodings that do not rotate; "" if there are none.
std::string added_text(const ModelSpec& model) {
  if (model.sinusoidal) return "\n" + sinusoidal_text(*model.sinusoidal, model.sources);
  if (!model.relative_bias) return {};
  if (const auto* const alibi = std::get_if<Alibi>(&*model.relative_bias))
    return "\n" + slopes_text(*alibi, model.sources);
  return "\n" + buckets_text(std::get<T5Bias>(*model.relative_bias), model.sources);
}

// The first and last pair, and six between them.
std::string pairs_table(const Frequencies& frequencies, std::optional<std::int64_t> tokens) {
  const std::vector<std::int32_t>& axis_of_pair = frequencies.axes.of_pair;
  std::string text = fmt::format("\n  pair{}      inv_freq  wavelength, tokens",
                                 axis_of_pair.empty() ? "" : "  axis");
  if (tokens) text += fmt::format("  {:>20}", fmt::format("turns within {}", *tokens));
  text += '\n';
  const std::size_t last = frequencies.inv_freq.size() - 1;
  const std::size_t steps = std::min<std::size_t>(last, 7);
  for (std::size_t step = 0; step <= steps; ++step) {
    const std::size_t pair = steps == 0 ? 0 : step * last / steps;
    const double inv_freq = frequencies.inv_freq[pair];
    text += fmt::format("  {:>4}", pair);
    if (!axis_of_pair.empty()) text += fmt::format("  {:>4}", axis_of_pair[pair]);
    text += fmt::format("  {:>12.6g}  {:>18}", inv_freq, plain(wavelength_tokens(inv_freq)));
    if (tokens) text += fmt::format("  {:>20}", plain(turns_within(inv_freq, *tokens)));
    text += '\n';
  }
  return text;
}

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
  if (rotary.spec.axes) text += line("axes", axes_text(*rotary.spec.axes), mark({"axes"}));
  text += line("base", fmt::format("{}", rotary.spec.base.get()), mark({"base"}));
  const Scaling& scaling = rotary.spec.scaling;
  text += line("rule", rope_type(scaling), mark({"rope_type"}));
  for (const auto& [facts, value] : scaling_parameters(scaling))
    text +=
        line("", fmt::format("  {} = {}", facts.name, parameter_text(value)), mark({facts.name}));
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
  const auto& [first, last] = frequencies.contexts;
  const std::string contexts = first == last ? fmt::format("a context of {} tokens alone", first)
                               : last == ContextRange{}.last
                                   ? fmt::format("contexts of {} tokens and more", first)
                                   : fmt::format("contexts of {} to {} tokens", first, last);
  if (depends_on_context(rotary.spec.scaling))
    text += line("holds for", contexts + "; --context shows another");
  text += line("attention factor", attention_text(rotary, frequencies.attention_factor));
  text += line("wavelengths", wavelengths_text(frequencies.inv_freq, unit_of(rotary.spec)));
  const bool is_tower = inspection.part != ModelPart::text && !trained;
  if (!is_tower)
    text += line("trained context",
                 trained      ? turning_text(frequencies, *trained)
                 : model.gguf ? "not in the file (context_length)"
                              : "not in the config (max_position_embeddings)",
                 origin_mark(rotary.sources, {"trained_context_tokens"}));
  if (inspection.context_tokens)
    text += line("your context", turning_text(frequencies, *inspection.context_tokens));
  return text + pairs_table(frequencies, trained);
}

// Says whether the checkpoint has the file's pairing, and lists facts that the file does not state.
std::string gguf_text(const GgufModel& gguf) {
  if (!gguf.rows) return {};
  const bool is_permuted = *gguf.rows == ProjectionRows::permuted;
  std::string text = line(
      "GGUF",
      fmt::format("the pairing is that of this file's q and k (rope type {})", gguf.rope_type));
  text += line("", is_permuted
                       ? fmt::format("the checkpoint's is {}: llama.cpp's converter permutes rows",
                                     to_string(*gguf.checkpoint_pairing))
                       : "and the checkpoint's: llama.cpp's converter keeps the order of rows");
  constexpr std::size_t indent = label_width + 2;
  for (const std::string& each : gguf.unstated)
    text +=
        fmt::format("  {:<{}}{}", &each == &gguf.unstated.front() ? "not in GGUF" : "", label_width,
                    cli::wrapped(each, indent, indent + text_width).substr(indent));
  return "\n" + text;
}

std::string text_of(const Inspection& inspection) {
  const ModelSpec& model = inspection.model;
  std::string text = printable(summary_text(model)) + "\n";
  if (!model.config_part.empty())
    text += fmt::format("read from {}, the config of the {}\n", model.config_part,
                        inspection.part == ModelPart::text     ? "language model"
                        : inspection.part == ModelPart::vision ? "vision tower"
                                                               : "audio tower");
  text += layers_text(model);
  text += added_text(model);
  if (model.encoder) {
    const auto& [encoding, layers, sinusoidal, positions, sources] = *model.encoder;
    text += "\n" + line("sinusoidal", fmt::format("encoder layers 0-{}", layers - 1)) +
            sinusoidal_text(sinusoidal, sources);
    if (positions)
      text += line("positions", fmt::format("{}", *positions), origin_mark(sources, {"positions"}));
  }
  if (const auto& map = model.dual_chunk)
    text +=
        "\n" + line("position map",
                    fmt::format("dual chunk ({0} tokens, {1} local): other distances beyond {0}",
                                map->chunk, map->local));
  if (model.softcap)
    text += "\n" + line("scores", fmt::format("capped: {0} tanh(score / {0})", *model.softcap),
                        origin_mark(model.sources, {"softcap"}));
  for (std::size_t i = 0; i < model.rotary.size(); ++i) text += rotary_text(inspection, i);
  if (model.gguf) text += gguf_text(*model.gguf);
  for (const InspectedPart& part : inspection.parts) {
    text += fmt::format("\n{}, from {}:\n", to_string(part.info.part),
                        printable(part.info.config_part));
    for (const std::string& word : part_words(part)) text += fmt::format("  {}\n", word);
  }
  const std::string legend = marks_legend(text);
  const std::string_view file = model.gguf ? "file" : "config";
  return text + (legend.empty() ? "" : fmt::format("\nNot stated by the {}:\n{}", file, legend));
}

void declare(OptionParser& parser, ModelOptions& options) {
  parser.add("CONFIG", options.config, std::string(config_help)).required();
  declare_model_options(parser, options);
}

std::string run(const ModelOptions& options, OutputForm form) {
  const Inspection inspection = inspect(options);
  print_warnings("inspect", inspection.model.warnings);
  return form == OutputForm::json ? printed(inspection_json(inspection)) : text_of(inspection);
}

}  // namespace
}  // namespace inspect_call

constinit const Command inspect_command{
    .name = "inspect",
    .summary = "Show what a model's config, or GGUF file, says about positions",
    .examples =
        "  rotary inspect config.json\n"
        "  rotary inspect model-Q4_K_M.gguf\n"
        "  rotary inspect config.json --context 32768\n"
        "  rotary inspect llama-3.1-8b\n"
        "  rotary inspect config.json --part vision\n"
        "  rotary inspect config.json --json | jq '.rotary[0].inv_freq'\n"
        "  curl -s https://example.com/model/config.json | rotary inspect -\n",
    .declare = declared<inspect_call::declare, inspect_call::run>,
};

}  // namespace rotary::cli
