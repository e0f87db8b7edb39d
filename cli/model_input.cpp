// SPDX-License-Identifier: Apache-2.0
#include "cli/model_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "cli/arguments.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"

namespace rotary::cli {
namespace {

// The largest config.json in use, with lists of frequencies, has less than a hundredth of this.
constexpr std::uint64_t most_config_bytes = std::uint64_t{16} << 20;

std::string layer_types_text(const ModelSpec& model) {
  std::vector<std::string> names;
  for (const ModelRotary& rotary : model.rotary) {
    if (rotary.layer_type) names.push_back(*rotary.layer_type);
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::size_t rotary_of_layer(const ModelSpec& model, std::int64_t layer) {
  if (model.layers.empty()) {
    throw Failure(ExitCode::usage,
                  "--layer needs a config with num_hidden_layers, and this one has none");
  }
  if (layer < 0 || static_cast<std::size_t>(layer) >= model.layers.size()) {
    throw Failure(ExitCode::usage, fmt::format("--layer must be one of 0 to {}, got {}",
                                               model.layers.size() - 1, layer));
  }
  const ModelLayer& chosen = model.layers[static_cast<std::size_t>(layer)];
  switch (chosen.encoding) {
    case LayerEncoding::rotary:
      return chosen.rotary;
    case LayerEncoding::none:
    case LayerEncoding::alibi:
    case LayerEncoding::t5_bias:
    case LayerEncoding::learned:
    case LayerEncoding::sinusoidal:
    case LayerEncoding::no_attention:
      break;
  }
  throw Failure(ExitCode::unsupported, fmt::format("layer {} has no rotary embedding: {}", layer,
                                                   to_string(chosen.encoding)));
}

std::size_t rotary_of_type(const ModelSpec& model, const std::string& layer_type) {
  for (std::size_t i = 0; i < model.rotary.size(); ++i) {
    if (model.rotary[i].layer_type == layer_type) return i;
  }
  throw Failure(ExitCode::usage,
                fmt::format("--layer-type must be one that the config names ({}), got '{}'",
                            layer_types_text(model), layer_type));
}

}  // namespace

std::optional<Pairing> parse_pairing(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return choose<Pairing>("--pairing", *text,
                         {{"half", Pairing::half}, {"interleaved", Pairing::interleaved}});
}

ModelSpec read_model(const std::string& path, const ResolveOptions& options) {
  const std::string text = read_file(path, most_config_bytes);
  return value_or_fail(resolve(text, options), input_name(path));
}

std::size_t choose_rotary(const ModelSpec& model, const LayerChoice& choice) {
  if (choice.layer && choice.layer_type) {
    throw Failure(ExitCode::usage, "--layer and --layer-type exclude each other");
  }
  if (choice.layer) return rotary_of_layer(model, *choice.layer);
  if (choice.layer_type) return rotary_of_type(model, *choice.layer_type);
  if (model.rotary.empty()) {
    throw Failure(ExitCode::unsupported, "the model has no rotary embedding");
  }
  if (model.rotary.size() > 1) {
    throw Failure(
        ExitCode::usage,
        fmt::format("the model has {} rotary embeddings: choose one with --layer-type ({})",
                    model.rotary.size(), layer_types_text(model)));
  }
  return 0;
}

std::string pairing_text(const HeadWindow& window) {
  const std::string from =
      window.first_feature == 0 ? "" : fmt::format(", from feature {}", window.first_feature);
  switch (window.pairing.get()) {
    case Pairing::half:
      return fmt::format("features i and i + {} turn together (rotate_half){}", window.pairs(),
                         from);
    case Pairing::interleaved:
      return fmt::format("features 2i and 2i + 1 turn together (rotate_every_two){}", from);
    case Pairing::interleaved_to_half:
      return fmt::format(
          "features 2i and 2i + 1 turn together and become i and i + {} (as in DeepSeek-V3){}",
          window.pairs(), from);
  }
  return {};
}

}  // namespace rotary::cli
