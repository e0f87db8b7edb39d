// SPDX-License-Identifier: Apache-2.0
#include "cli/model_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/model_cards.hpp"

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

// Text that names nothing in the file system may be a card's name; a path with folders is none.
bool may_be_card(const std::string& path) {
  std::error_code error;
  return path != "-" && path.find('/') == std::string::npos &&
         std::filesystem::symlink_status(path, error).type() ==
             std::filesystem::file_type::not_found;
}

}  // namespace

std::optional<Pairing> parse_pairing(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return choose<Pairing>("--pairing", *text,
                         {{"half", Pairing::half},
                          {"interleaved", Pairing::interleaved},
                          {"interleaved_to_half", Pairing::interleaved_to_half}});
}

bool names_config(const std::string& path_or_card) {
  return !may_be_card(path_or_card) || find_model_card(path_or_card) != nullptr;
}

std::string read_config(const std::string& path_or_card) {
  if (!may_be_card(path_or_card)) return read_file(path_or_card, most_config_bytes);
  if (const ModelCard* card = find_model_card(path_or_card)) return std::string(card->json);
  throw Failure(ExitCode::io, fmt::format("{}: No such file, and no model card has this name{}",
                                          path_or_card, near_card_names_text(path_or_card)));
}

ModelSpec read_model(const std::string& path_or_card, const ResolveOptions& options) {
  return value_or_fail(resolve(read_config(path_or_card), options), input_name(path_or_card));
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

std::string numerics_text(const RotarySpec& spec) {
  if (spec.numerics != Numerics::transformers) return std::string(to_string(spec.numerics));
  return fmt::format("{}, rounding {}", to_string(spec.numerics), to_string(spec.rounding));
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
