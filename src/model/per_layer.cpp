// SPDX-License-Identifier: Apache-2.0
#include "model/per_layer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/json/config_json.hpp"
#include "model/rope/rope_keys.hpp"

namespace rotary {
namespace {

constexpr std::string_view per_layer_config = "per_layer_config";

bool changes_positions(std::string_view name) {
  constexpr std::array<std::string_view, 6> others = {
      "hidden_size", "num_attention_heads",     "max_position_embeddings",
      "layer_type",  "position_embedding_type", "original_max_position_embeddings"};
  return speaks_of_rope(name) || std::find(others.begin(), others.end(), name) != others.end();
}

// The layer that the text names, in decimal; nothing if there is none.
std::optional<std::size_t> layer_named(std::string_view text, std::size_t layers) {
  std::size_t layer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), layer);
  if (error != std::errc() || end != text.data() + text.size() || layer >= layers) return {};
  return layer;
}

// head_dim of each layer.
std::vector<std::int64_t> read_head_dims(Reader& entries, std::size_t layers, std::int64_t usual) {
  std::vector<std::int64_t> head_dims(layers, usual);
  for (const auto& [name, entry] : entries.members()) {
    const auto layer = layer_named(name, layers);
    if (!layer || !entry.is_object()) {
      entries.malformed(shorten(name), " must be a layer, 0 to ", layers - 1,
                        ", with an object, got ", describe(entry));
      return head_dims;
    }
    Reader values(entry, message(entries.path(), name, "."), entries.findings());
    head_dims[*layer] = values.integer("head_dim").value_or(usual);
    for (const auto& [member, value] : values.members()) {
      if (!changes_positions(member) || value.is_null()) continue;
      values.not_supported(shorten(member), " of a single layer is not supported, got ",
                           describe(value));
    }
  }
  return head_dims;
}

}  // namespace

void read_per_layer_config(Reader& config, ModelConfig& result) {
  auto entries = config.object(per_layer_config);
  if (!entries || result.encoding != LayerEncoding::rotary || !result.layers) return;
  const auto layers = static_cast<std::size_t>(*result.layers);
  const auto head_dims = read_head_dims(*entries, layers, result.head_dim);
  const bool has_full = !result.family.head.full_dim_key.empty();
  std::optional<std::int64_t> of_full;
  for (std::size_t i = 0; i < layers && !config.failed(); ++i) {
    const bool is_full =
        has_full && i < result.layer_types.size() && result.layer_types[i] == "full_attention";
    const std::int64_t wanted = is_full ? of_full.value_or(head_dims[i]) : result.head_dim;
    if (is_full) of_full = wanted;
    if (head_dims[i] == wanted) continue;
    entries->not_supported("head_dim must be the same in all layers of one type, got ",
                           head_dims[i], " in layer ", i, " and ", wanted);
  }
  if (!of_full) return;
  result.full_head_dim = *of_full;
  note(result.full_head_sources, "head_dim", Origin::stated, per_layer_config);
}

}  // namespace rotary
