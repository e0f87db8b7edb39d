// SPDX-License-Identifier: Apache-2.0
#include "model/position_keys.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "base/spelling.hpp"
#include "model/json/config_json.hpp"
#include "model/other_names.hpp"

namespace rotary {
namespace {

using Names = std::span<const std::string_view>;

bool contains(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The values of position_embedding_type that mean an encoding. Messages show the first.
Names names_of(LayerEncoding encoding) {
  static constexpr std::array<std::string_view, 2> rotary = {"rope", "rotary"};
  static constexpr std::array<std::string_view, 3> learned = {"absolute", "learned",
                                                              "learned_absolute"};
  static constexpr std::array<std::string_view, 2> sinusoidal = {"sinusoidal", "absolute"};
  static constexpr std::array<std::string_view, 1> alibi = {"alibi"};
  static constexpr std::array<std::string_view, 2> t5_bias = {"relative", "t5"};
  static constexpr std::array<std::string_view, 2> none = {"nope", "none"};
  switch (encoding) {
    case LayerEncoding::rotary:
      return rotary;
    case LayerEncoding::learned:
      return learned;
    case LayerEncoding::sinusoidal:
      return sinusoidal;
    case LayerEncoding::alibi:
      return alibi;
    case LayerEncoding::t5_bias:
      return t5_bias;
    case LayerEncoding::none:
    case LayerEncoding::no_attention:
      break;
  }
  return none;
}

// The words of a key, which underscores separate.
std::vector<std::string_view> words_of(std::string_view key) {
  std::vector<std::string_view> words;
  while (true) {
    const auto underscore = key.find('_');
    words.push_back(key.substr(0, underscore));
    if (underscore == std::string_view::npos) return words;
    key.remove_prefix(underscore + 1);
  }
}

bool has_word(const std::vector<std::string_view>& words, Names wanted) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return contains(wanted, word); });
}

constexpr auto words_of_positions = std::to_array<std::string_view>(
    {"position", "positions", "positional", "pos", "alibi", "nope", "relative", "rel", "distance",
     "head", "heads", "headdim", "layer", "layers", "pattern", "interval"});

// Words that occur in keys about other parts of a model: norms, experts, images, values, outputs.
constexpr auto words_of_others = std::to_array<std::string_view>(
    {"norm",    "layernorm", "eps",       "epsilon", "moe",    "mlp",   "ffn",   "expert",
     "experts", "dense",     "image",     "vision",  "visual", "video", "audio", "speech",
     "mm",      "kv",        "value",     "v",       "lm",     "cls",   "id",    "ids",
     "drop",    "dropout",   "layerdrop", "pruned",  "nextn",  "mtp",   "logits"});

// Whether a value means that nothing was set.
bool is_empty(const Json& value) {
  return value.is_null() || value == Json(false) ||
         ((value.is_array() || value.is_object()) && value.size() == 0);
}

}  // namespace

void check_position_embedding_type(Reader& config, const ModelConfig& model) {
  constexpr std::string_view key = "position_embedding_type";
  if (model.family.encoding_key == key || model.encoding == LayerEncoding::no_attention) return;
  const auto name = config.text(key);
  const Names names = names_of(model.encoding);
  if (!name || contains(names, *name)) return;
  if (*name == "absolute") {  // what classes derived from BERT's have by default
    config.warn(key, " absolute is ignored: the family ", model.family.model_type,
                " does not read it, and has ", to_string(model.encoding), " positions");
    return;
  }
  config.not_supported(key, " must be ", names.front(), ", because the family ",
                       model.family.model_type, " does not read it; got ", describe(*name));
}

std::optional<DualChunk> read_dual_chunk(Reader& config) {
  auto object = config.object("dual_chunk_attention_config");
  if (!object) return {};
  const DualChunk map{.chunk = object->required_integer("chunk_size"),
                      .local = object->required_integer("local_size")};
  const auto original = object->integer("original_max_position_embeddings");
  // The sparse attention of the same servers leaves out keys and values but does not change
  // positions.
  constexpr std::array<std::string_view, 3> sparse = {
      "sparse_attention_config", "sparse_attention_enabled", "sparse_attention_threshold"};
  object->accept(sparse);
  if (auto error =
          object->error_about_others(ErrorCode::unsupported, " is not understood; known are ")) {
    config.findings().fail(*std::move(error));
  }
  if (const auto status = validate(PositionMap(map)); !status) {
    object->malformed("chunk_size must be > local_size >= 0, got ", map.chunk, " and ", map.local);
  }
  if (config.failed()) return {};
  config.dispute(every_transformers,
                 "dual_chunk_attention_config changes relative positions beyond ", map.chunk,
                 " tokens (the position map DualChunk, attend_mapped), as in vLLM and SGLang; "
                 "Transformers does not read it. The frequencies stay",
                 original ? message("; beyond ", *original,
                                    " tokens n they multiply the scores by "
                                    "0.1 ln(n / ",
                                    *original, ") + 1")
                          : "");
  return map;
}

void refuse_other_position_keys(Reader& config, const std::set<std::string>& asked) {
  // The first is read only if head_dim is absent. The second says which layers have a window.
  std::vector<std::string_view> known = {"num_attention_heads", "max_window_layers"};
  for (const std::string& each : asked) {
    if (each.substr(0, config.path().size()) == config.path()) {
      known.push_back(std::string_view(each).substr(config.path().size()));
    }
  }
  for (const auto& [key, value] : config.members()) {
    const auto words = words_of(key);
    if (is_empty(value) || !has_word(words, words_of_positions)) continue;
    if (has_word(words, words_of_others) || contains(known, key)) continue;
    config.not_supported(shorten(key),
                         " is not understood for a model_type that nobody here knows, and may "
                         "change positions, heads or layers; got ",
                         describe(value), did_you_mean(key, known), way_round(config, key));
    return;
  }
}

}  // namespace rotary
