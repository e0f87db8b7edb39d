// SPDX-License-Identifier: Apache-2.0
#include "model/position_keys.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/spelling.hpp"
#include "model/json/config_json.hpp"
#include "model/other_names.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

// The values of position_embedding_type for each LayerEncoding, from rotary on. Messages show the
// first.
constexpr std::array<std::string_view, 7> names_of_encodings = {
    "rope rotary",         "nope none", "alibi", "relative t5", "absolute learned learned_absolute",
    "sinusoidal absolute", "nope none"};
static_assert(names_of_encodings.size() == static_cast<std::size_t>(LayerEncoding::no_attention));

std::vector<std::string_view> words_of(std::string_view key) {
  std::vector<std::string_view> words;
  while (true) {
    const auto underscore = key.find('_');
    words.push_back(key.substr(0, underscore));
    if (underscore == std::string_view::npos) return words;
    key.remove_prefix(underscore + 1);
  }
}

bool has_any(const std::vector<std::string_view>& words, std::string_view wanted) {
  return std::ranges::any_of(words, [&](std::string_view word) { return has_word(wanted, word); });
}

constexpr std::string_view words_of_positions =
    "position positions positional pos alibi nope relative rel distance head heads headdim layer "
    "layers pattern interval";

// Words of keys about other parts of a model: norms, experts, images, values, outputs.
constexpr std::string_view words_of_others =
    "norm layernorm eps epsilon moe mlp ffn expert experts dense image vision visual video audio "
    "speech mm kv value v lm cls id ids drop dropout layerdrop pruned nextn mtp logits";

bool is_empty(const Json& value) {
  return value.is_null() || value == Json(false) ||
         ((value.is_array() || value.is_object()) && value.size() == 0);
}

}  // namespace

void check_position_embedding_type(Reader& config, const ModelConfig& model) {
  constexpr std::string_view key = "position_embedding_type";
  if (model.family.choice.key == key || model.encoding == LayerEncoding::no_attention) return;
  const auto name = config.text(key);
  const std::string_view names = names_of_encodings[static_cast<std::size_t>(model.encoding) - 1];
  if (!name || has_word(names, *name)) return;
  if (*name == "absolute") {  // the default of classes derived from BERT's
    config.warn(key, " absolute is ignored: the family ", model.family.model_type,
                " does not read it, and has ", to_string(model.encoding), " positions");
    return;
  }
  config.not_supported(key, " must be ", names.substr(0, names.find(' ')), ", because the family ",
                       model.family.model_type, " does not read it; got ", describe(*name));
}

std::optional<DualChunk> read_dual_chunk(Reader& config) {
  auto object = config.object("dual_chunk_attention_config");
  if (!object) return {};
  const DualChunk map{.chunk = object->required_integer("chunk_size"),
                      .local = object->required_integer("local_size")};
  const auto original = object->integer("original_max_position_embeddings");
  // Sparse attention leaves out keys and values, but does not change positions.
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
  // Readers ask for heads only without head_dim, and for max_window_layers only with windows.
  std::vector<std::string_view> known = {"num_attention_heads", "max_window_layers"};
  for (const std::string& each : asked) {
    if (each.substr(0, config.path().size()) == config.path()) {
      known.push_back(std::string_view(each).substr(config.path().size()));
    }
  }
  for (const auto& [key, value] : config.members()) {
    const auto words = words_of(key);
    if (is_empty(value) || !has_any(words, words_of_positions)) continue;
    if (has_any(words, words_of_others) || std::ranges::find(known, key) != known.end()) continue;
    config.not_supported(shorten(key),
                         " is not understood for a model_type that nobody here knows, and may "
                         "change positions, heads or layers; got ",
                         describe(value), did_you_mean(key, known), way_round(config, key));
    return;
  }
}

}  // namespace rotary
