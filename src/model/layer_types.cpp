// SPDX-License-Identifier: Apache-2.0
#include "model/layer_types.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/message.hpp"

namespace rotary {
namespace {

using LayerTypes = std::vector<std::string>;

constexpr std::string_view full = "full_attention";
constexpr std::string_view sliding = "sliding_attention";
constexpr std::string_view linear = "linear_attention";

Result<LayerTypes> from_list(const ConfigObject& config, std::string_view key, const Json& list) {
  const bool is_text =
      list.is_array() && std::all_of(list.array().begin(), list.array().end(),
                                     [](const Json& each) { return each.is_string(); });
  if (!is_text) {
    return malformed_input(config.path, key, " must be an array of strings, got ", describe(list));
  }
  LayerTypes types;
  for (const Json& each : list.array()) types.push_back(each.string());
  return types;
}

// Lists with a number per layer for its type: 0 and 1 in attn_type_list and hybrid_layer_pattern,
// ratios in compress_ratios.
struct NumberedTypes {
  std::string_view key;
  std::array<std::pair<std::int64_t, std::string_view>, 3> types;
};
constexpr std::array<NumberedTypes, 3> numbered = {
    NumberedTypes{"attn_type_list", {{{0, linear}, {1, full}, {1, full}}}},
    NumberedTypes{"hybrid_layer_pattern", {{{0, full}, {1, sliding}, {1, sliding}}}},
    NumberedTypes{"compress_ratios",
                  {{{0, sliding},
                    {4, "compressed_sparse_attention"},
                    {128, "heavily_compressed_attention"}}}}};

Result<LayerTypes> from_numbers(const ConfigObject& config, const NumberedTypes& meaning) {
  LayerTypes types;
  const auto values = read_numbers(config, meaning.key);
  if (!values) return values.error();
  for (const double value : values->value_or(std::vector<double>())) {
    const auto* const found =
        std::find_if(meaning.types.begin(), meaning.types.end(),
                     [&](const auto& each) { return static_cast<double>(each.first) == value; });
    if (found == meaning.types.end()) {
      return unsupported(config.path, meaning.key, " must hold numbers of known layer types, got ",
                         value);
    }
    types.emplace_back(found->second);
  }
  return types;
}

// Lists with the indices of the layers of one type; all others have other_type.
struct IndexedType {
  std::string_view key;
  std::string_view type;
  std::string_view other_type;
};
constexpr std::array<IndexedType, 3> indexed = {
    IndexedType{"attn_layer_indices", full, linear}, IndexedType{"full_attn_idxs", full, linear},
    IndexedType{"cross_attention_layers", cross_attention, full}};

Result<LayerTypes> from_indices(const ConfigObject& config, const IndexedType& meaning,
                                std::int64_t layers) {
  const std::string_view key = meaning.key;
  const auto indices = read_numbers(config, key);
  if (!indices) return indices.error();
  LayerTypes types(static_cast<std::size_t>(layers), std::string(meaning.other_type));
  for (const double index : indices->value_or(std::vector<double>())) {
    if (!(index >= 0) || index >= static_cast<double>(layers)) {
      return malformed_input(config.path, key, " must hold indices of layers, 0 to ", layers - 1,
                             "; got ", index);
    }
    types[static_cast<std::size_t>(index)] = meaning.type;
  }
  return types;
}

// jamba: every attn_layer_period-th layer, beginning with attn_layer_offset, has attention.
Result<LayerTypes> from_period(const ConfigObject& config, std::int64_t layers) {
  const auto period = read_integer(config, "attn_layer_period");
  if (!period) return period.error();
  const auto offset = read_integer(config, "attn_layer_offset");
  if (!offset) return offset.error();
  const std::int64_t every = period->value_or(1);
  if (every < 1) {
    return malformed_input(config.path, "attn_layer_period must be >= 1, got ", every);
  }
  LayerTypes types;
  for (std::int64_t i = 0; i < layers; ++i)
    types.emplace_back(i % every == offset->value_or(0) ? full : linear);
  return types;
}

// nemotron_h: a letter for each layer; * has attention.
Result<LayerTypes> from_letters(const ConfigObject& config) {
  const auto letters = read_string(config, "hybrid_override_pattern");
  if (!letters) return letters.error();
  LayerTypes types;
  for (const char letter : letters->value_or("")) {
    if (letter == '*')
      types.emplace_back(full);
    else if (letter == 'M' || letter == '-' || letter == 'E')
      types.emplace_back(linear);
    else
      return unsupported(config.path, "hybrid_override_pattern must be of M, *, - and E, got ",
                         describe(**letters));
  }
  return types;
}

bool is_full(FullLayer rule, std::int64_t layer, std::int64_t interval) {
  const bool is_last = (layer + 1) % interval == 0;
  switch (rule) {
    case FullLayer::last:
      return is_last;
    case FullLayer::first:
      return layer % interval == 0;
    case FullLayer::last_and_zero:
      return is_last || layer == 0;
  }
  return is_last;
}

// An interval as a number or, in EXAONE's configs, as the types of its layers: "LLLG".
Result<std::int64_t> read_interval(const ConfigObject& config, const LayerPattern& pattern) {
  if (pattern.interval_key.empty()) return pattern.interval;
  const Json* const value = find(config, pattern.interval_key);
  if (value != nullptr && value->is_string()) {
    const std::string& letters = value->string();
    const bool is_local_then_global = letters.size() > 1 &&
                                      letters.find_first_not_of('L') == letters.size() - 1 &&
                                      letters.back() == 'G';
    if (is_local_then_global) return static_cast<std::int64_t>(letters.size());
    return unsupported(config.path, pattern.interval_key,
                       " must be a number or L's and one G, as in LLLG; got ", describe(*value));
  }
  const auto interval = read_integer(config, pattern.interval_key);
  if (!interval) return interval.error();
  const std::int64_t every = interval->value_or(pattern.interval);
  if (every < 1) {
    return malformed_input(config.path, pattern.interval_key, " must be >= 1, got ", every);
  }
  return every;
}

Result<LayerTypes> from_pattern(const ConfigObject& config, const LayerPattern& pattern,
                                std::int64_t layers) {
  LayerTypes types;
  if (pattern.interval == all_alike) return types;
  if (pattern.interval == must_be_listed) {
    return malformed_input(config.path,
                           "layer_types (or layers_block_type) must be given, because layers of "
                           "this model_type differ; got none");
  }
  const auto interval = read_interval(config, pattern);
  if (!interval) return interval.error();
  for (std::int64_t i = 0; i < layers; ++i) {
    types.emplace_back(is_full(pattern.full, i, *interval) ? pattern.full_type
                                                           : pattern.other_type);
  }
  return types;
}

Result<LayerTypes> find_types(const ConfigObject& config, const Family& family,
                              std::optional<std::int64_t> layers) {
  for (const std::string_view key : {"layer_types", "layers_block_type"}) {
    if (const Json* const list = find(config, key)) return from_list(config, key, *list);
  }
  for (const NumberedTypes& each : numbered) {
    if (find(config, each.key) != nullptr) return from_numbers(config, each);
  }
  if (find(config, "hybrid_override_pattern") != nullptr) return from_letters(config);
  if (!layers) return LayerTypes();
  for (const IndexedType& each : indexed) {
    if (find(config, each.key) != nullptr) return from_indices(config, each, *layers);
  }
  if (find(config, "attn_layer_period") != nullptr) return from_period(config, *layers);
  return from_pattern(config, family.pattern, *layers);
}

}  // namespace

Result<std::vector<std::string>> read_layer_types(const ConfigObject& config, const Family& family,
                                                  std::optional<std::int64_t> layers) {
  auto types = find_types(config, family, layers);
  if (!types) return types;
  // Layers that predict several tokens at once may follow those of the model.
  const bool may_be_longer = family.labels != RopeLabels::layer_types;
  const auto count = static_cast<std::int64_t>(types->size());
  if (layers && may_be_longer && count > *layers) {
    types->resize(static_cast<std::size_t>(*layers));
  } else if (layers && count != 0 && count != *layers) {
    return malformed_input(config.path, "layer_types must have one entry for each layer, ", *layers,
                           "; got ", count);
  }
  return types;
}

bool has_attention(std::string_view layer_type) {
  constexpr std::array<std::string_view, 9> without = {
      linear, "mamba", "mamba2", "conv", "recurrent", "mlp", "moe", "linear", "lightning"};
  return std::find(without.begin(), without.end(), layer_type) == without.end();
}

}  // namespace rotary
