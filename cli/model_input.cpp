// SPDX-License-Identifier: Apache-2.0
#include "cli/model_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "cli/arguments.hpp"
#include "cli/gguf_input.hpp"
#include "cli/model_cards.hpp"

namespace rotary::cli {
namespace {

// A hundred times the largest config.json in use.
constexpr std::uint64_t most_config_bytes = std::uint64_t{16} << 20;

std::string layer_types_text(const ModelSpec& model) {
  std::vector<std::string> names;
  for (const ModelRotary& rotary : model.rotary)
    if (rotary.layer_type) names.push_back(*rotary.layer_type);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

bool is_file_or_folder(const std::string& path) {
  std::error_code error;
  return path == "-" || std::filesystem::symlink_status(path, error).type() !=
                            std::filesystem::file_type::not_found;
}

const ModelCard* card_meant(const std::string& text) {
  if (is_file_or_folder(text)) return nullptr;
  if (const ModelCard* card = find_model_card(text)) return card;
  // If the organisation is an existing folder, the text is a path.
  return is_file_or_folder(text.substr(0, text.find('/'))) ? nullptr : find_card_of_id(text);
}

// A folder's config.json, else the params.json of checkpoints from Meta and Mistral.
std::string file_in(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return path;
  for (const std::string_view name : {"config.json", "params.json"}) {
    const std::filesystem::path file = std::filesystem::path(path) / name;
    if (std::filesystem::exists(file, error)) return file.string();
  }
  fail(ExitCode::io, "{}: the folder must have a config.json (or params.json), and has none", path);
}

// Recognises safetensors by a header of less than 2^40 bytes that begins with '{'.
void refuse_safetensors(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  std::array<std::byte, 9> bytes{};
  const std::size_t count = InputFile(path).read(bytes);
  const std::string_view begin(reinterpret_cast<const char*>(bytes.data()), count);
  const bool is_short = count == 9 && begin.substr(5, 3) == std::string_view("\0\0\0", 3);
  if (!is_short || begin[8] != '{') return;
  fail(ExitCode::unsupported,
       "{}: must be a model's config or a GGUF file, got a safetensors file of weights, which does "
       "not say how positions are used; give the config.json of the model",
       path);
}

// Refuses options for facts that a GGUF file states.
GgufOptions gguf_options(const ResolveOptions& options, const std::string& path) {
  const auto refuse = [&](bool is_given, std::string_view option, std::string_view why) {
    require(!is_given, "{} is for a config.json, and {} is a GGUF file: {}", option,
            input_name(path), why);
  };
  refuse(options.pairing.has_value(), "--pairing", "its architecture says which features pair up");
  const auto renamed = [](const ConfigOverride& each) { return !each.from.empty(); };
  refuse(std::ranges::any_of(options.overrides, renamed), "--key", "its keys have one name each");
  refuse(std::ranges::any_of(options.overrides, is_merged), "--overrides",
         "--flags takes llama.cpp's flags, and --set a key of the file");
  refuse(options.part != ModelPart::text, "--part",
         "it has only the language model, and a tower is another file");
  refuse(options.numerics == Numerics::transformers || options.numerics == Numerics::vllm,
         "--numerics transformers or vllm",
         "it does not say where the model's class rounds; exact and ggml are left");
  return {.context_tokens = options.context_tokens,
          .numerics = options.numerics,
          .overrides = options.overrides};
}

void refuse_flags(const ResolveOptions& options, const std::string& path) {
  require(std::ranges::none_of(options.overrides, is_flag),
          "--flags is for a GGUF file, and {} is a config.json", input_name(path));
}

}  // namespace

bool is_flag(const ConfigOverride& change) { return change.key.starts_with('-'); }

bool is_merged(const ConfigOverride& change) { return change.unread == UnreadKey::warn; }

bool names_config(const std::string& path_or_card) {
  return is_file_or_folder(path_or_card) || card_meant(path_or_card) != nullptr ||
         path_or_card.find('/') != std::string::npos;
}

ConfigFile read_config(const std::string& path_or_card) {
  if (const ModelCard* card = card_meant(path_or_card)) return {.json = std::string(card->json)};
  const bool may_be_id =  // "ORGANISATION/NAME", as on the Hub
      std::ranges::count(path_or_card, '/') == 1 && !path_or_card.starts_with('.') &&
      !path_or_card.starts_with('/') && !path_or_card.ends_with('/') &&
      !path_or_card.ends_with(".json");
  if (!is_file_or_folder(path_or_card))
    fail_unknown_card(path_or_card,
                      !may_be_id
                          ? ""
                          : fmt::format("; `curl -LO https://huggingface.co/{}/resolve/main/"
                                        "config.json` fetches the config of a model of the Hub",
                                        path_or_card));
  const std::string path = file_in(path_or_card);
  refuse_safetensors(path);
  if (auto metadata = read_gguf_file(path)) return gguf_config(*std::move(metadata));
  std::string text = read_file(path, most_config_bytes);
  if (!is_gguf(text)) return {.json = std::move(text)};
  return gguf_config(gguf_of_bytes(text, path));
}

ModelSpec read_model(const std::string& path_or_card, const ResolveOptions& options) {
  return model_of(read_config(path_or_card), path_or_card, options);
}

ModelSpec model_of(const ConfigFile& config, const std::string& path_or_card,
                   const ResolveOptions& options) {
  if (config.gguf) {
    return value_or_fail(resolve_gguf(*config.gguf, gguf_options(options, path_or_card)),
                         input_name(path_or_card));
  }
  refuse_flags(options, path_or_card);
  ModelSpec model = value_or_fail(resolve(config.json, options), input_name(path_or_card));
  const ModelCard* card = card_meant(path_or_card);
  if (card != nullptr && path_or_card.find('/') != std::string::npos) {
    model.warnings.push_back(
        fmt::format("{} is read as the model card {}", path_or_card, card->name));
  }
  return model;
}

DialectReading reading_of(const ConfigFile& config, const std::string& path_or_card,
                          const ResolveOptions& options, const Dialect& dialect) {
  require(!config.gguf,
          "--between needs a config.json, which each engine reads in its own way, and {} is a GGUF "
          "file: `rotary diff` compares it with the config that it was made of",
          input_name(path_or_card));
  refuse_flags(options, path_or_card);
  return value_or_fail(read_as(config.json, dialect, options), input_name(path_or_card));
}

std::size_t choose_rotary(const ModelSpec& model, const LayerChoice& choice) {
  require(!choice.layer || !choice.layer_type, "--layer and --layer-type exclude each other");
  if (choice.layer) {
    require(!model.layers.empty(),
            "--layer needs a config with num_hidden_layers, and this one has none");
    require(*choice.layer >= 0 && std::cmp_less(*choice.layer, model.layers.size()),
            "--layer must be one of 0 to {}, got {}", model.layers.size() - 1, *choice.layer);
    const ModelLayer& chosen = model.layers[static_cast<std::size_t>(*choice.layer)];
    if (chosen.encoding == LayerEncoding::rotary) return chosen.rotary;
    fail(ExitCode::unsupported, "layer {} has no rotary embedding: {}", *choice.layer,
         to_string(chosen.encoding));
  }
  if (choice.layer_type) {
    const auto chosen =
        std::ranges::find(model.rotary, choice.layer_type, &ModelRotary::layer_type);
    require(chosen != model.rotary.end(),
            "--layer-type must be one that the config names ({}), got '{}'",
            layer_types_text(model), *choice.layer_type);
    return static_cast<std::size_t>(chosen - model.rotary.begin());
  }
  if (model.rotary.empty()) fail(ExitCode::unsupported, "the model has no rotary embedding");
  require(model.rotary.size() == 1,
          "the model has {} rotary embeddings: choose one with --layer-type ({})",
          model.rotary.size(), layer_types_text(model));
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
      if (window.blocks > 1)
        return fmt::format("features i and i + {} of each of {} parts turn together{}",
                           window.pairs() / window.blocks, window.blocks, from);
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
