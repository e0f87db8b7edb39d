// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <string_view>
#include <vector>

#include "model/json/config_json.hpp"
#include "model/layers/resolve_layers.hpp"
#include "model/rope/rope_keys.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr std::string_view key_of_all = "per_layer_config";

using PerLayer = std::vector<std::int64_t>;

std::optional<std::size_t> layer_number(std::string_view text, std::size_t layers) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number && number < layers ? std::optional(number) : std::nullopt;
}

// Reads the key in the layers' own objects; `otherwise` for layers without it.
PerLayer values_of(Reader& object, std::string_view key, std::size_t layers,
                   std::int64_t otherwise) {
  PerLayer values(layers, otherwise);
  for (const auto& [name, entry] : object.members()) {
    const auto number = layer_number(name, layers);
    if (!number || !entry.is_object()) {
      object.malformed(shorten(name), " must be the number of a layer, 0 to ", layers - 1,
                       ", with an object; got ", describe(entry));
      break;
    }
    Reader reader(entry, message(object.path(), name, "."), object.findings());
    values[*number] = reader.integer(key).value_or(otherwise);
  }
  return values;
}

// Asks for the common value of a type's layers. All other layers must have the config's, `own`.
struct OfOneType {
  std::string_view key;
  std::string_view type;  // empty: no type may differ
  std::int64_t own;
};

std::int64_t read_of_type(Reader& object, const OfOneType& wanted, const ModelConfig& config) {
  const auto values =
      values_of(object, wanted.key, static_cast<std::size_t>(*config.layers), wanted.own);
  const auto& types = config.layer_types;
  std::optional<std::int64_t> common;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_of_type = i < types.size() && types[i] == wanted.type;
    const std::int64_t required = is_of_type ? common.value_or(values[i]) : wanted.own;
    if (values[i] != required) {
      object.not_supported(to_text(static_cast<std::int64_t>(i)), ".", wanted.key, " must be ",
                           required, ", as in other layers of its type; got ", values[i]);
      break;
    }
    if (is_of_type) common = required;
  }
  return common.value_or(wanted.own);
}

bool changes_positions(const ModelConfig& config, std::string_view key) {
  constexpr std::string_view others =
      "max_position_embeddings layer_type position_embedding_type original_max_position_embeddings";
  if (key == "hidden_size" || key == "num_attention_heads") {  // head_dim may be their quotient
    return !config.family.head.latent && !config.reader.has(config.family.keys.head_dim);
  }
  return speaks_of_rope(key) || has_word(others, key);
}

void refuse_what_changes_positions(Reader& object, const ModelConfig& config) {
  for (const auto& [name, entry] : object.members()) {
    if (!entry.is_object()) continue;  // values_of() refuses it
    for (const auto& [key, value] : entry.object()) {
      if (!changes_positions(config, key) || key == "qk_rope_head_dim" || value.is_null()) continue;
      object.not_supported(shorten(name), ".", shorten(key),
                           " is not understood for single layers; got ", describe(value));
      return;
    }
  }
}

}  // namespace

void read_per_layer_config(Reader& config, ModelConfig& result) {
  auto object = config.object(key_of_all);
  if (!object || object->members().empty()) return;
  if (result.encoding != LayerEncoding::rotary || !result.layers) return;
  refuse_what_changes_positions(*object, result);
  if (result.family.head.latent) {
    read_of_type(*object, {"qk_rope_head_dim", "", result.head_dim}, result);
    result.sliding_nope_head_dim = read_of_type(
        *object, {"qk_nope_head_dim", "sliding_attention", result.nope_head_dim}, result);
    return;
  }
  const std::string_view full_key = result.family.head.full_dim_key;
  const bool is_needed = result.full_head_dim != result.head_dim && !config.has(full_key);
  const OfOneType head_dim{"head_dim", full_key.empty() ? "" : "full_attention", result.head_dim};
  const std::int64_t full_dim = read_of_type(*object, head_dim, result);
  if (full_dim == result.head_dim && !is_needed) return;
  result.full_head_dim = full_dim;
  result.full_head_sources.clear();
  note(result.full_head_sources, "head_dim", Origin::stated, key_of_all);
}

}  // namespace rotary
