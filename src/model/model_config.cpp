// SPDX-License-Identifier: Apache-2.0
#include "model/model_config.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "base/message.hpp"
#include "model/layer_types.hpp"
#include "model/rope/rope_keys.hpp"

namespace rotary {
namespace {

// The name that the config uses for a value: the family's, or else the usual one.
std::string_view present(const ConfigObject& config, std::string_view own, std::string_view usual) {
  return find(config, own) == nullptr && find(config, usual) != nullptr ? usual : own;
}

Status read_encoding(const ConfigObject& config, ModelConfig& result) {
  const Family& family = result.family;
  result.encoding = family.encoding;
  if (family.read_encoding != nullptr) {
    const auto encoding = family.read_encoding(config, result.warnings);
    if (!encoding) return encoding.error();
    result.encoding = *encoding;
  }
  // Other encodings have no use for these keys.
  if (result.encoding != LayerEncoding::rotary) return {};
  return check_rope_keys(config, family, result.warnings);
}

Status read_layers(const ConfigObject& config, ModelConfig& result) {
  const Family& family = result.family;
  const auto key = present(config, family.keys.layers, ConfigKeys().layers);
  const auto layers = read_integer(config, key);
  if (!layers) return layers.error();
  if (*layers && (**layers < 1 || **layers > max_layers)) {
    return malformed_input(config.path, key, " must be in 1..", max_layers, ", got ", **layers);
  }
  result.layers = *layers;
  auto types = read_layer_types(config, family, result.layers);
  if (!types) return std::move(types).error();
  result.layer_types = *std::move(types);
  if (!result.layers && !result.layer_types.empty())
    result.layers = static_cast<std::int64_t>(result.layer_types.size());
  if (!result.layers && result.encoding != LayerEncoding::rotary) {
    return malformed_input(config.path, key, " must be given, got none");
  }
  return {};
}

// Sets head_dim to hidden size / heads (times head_dim_multiple). The quotient must be whole.
Status divide_heads(const ConfigObject& config, ModelConfig& result) {
  const ConfigKeys& keys = result.family.keys;
  const ConfigKeys usual;
  const auto size_key = present(config, keys.hidden_size, usual.hidden_size);
  const auto heads_key = present(config, keys.heads, usual.heads);
  const auto hidden_size = read_integer(config, size_key);
  if (!hidden_size) return hidden_size.error();
  const auto heads = read_integer(config, heads_key);
  if (!heads) return heads.error();
  if (!*hidden_size || !*heads) {
    const bool is_wrapped = find(config, "text_config") != nullptr;
    return malformed_input(config.path, keys.head_dim, ", or ", size_key, " and ", heads_key,
                           ", must be given, got neither",
                           is_wrapped ? "; this config keeps its language model in text_config: "
                                        "pass that object alone"
                                      : "");
  }
  if (**heads < 1) {
    return malformed_input(config.path, heads_key, " must be >= 1, got ", **heads);
  }
  if (**hidden_size < 1 || **hidden_size % **heads != 0) {
    return malformed_input(config.path, size_key, " must be a positive multiple of ", heads_key,
                           ", got ", **hidden_size, " and ", **heads);
  }
  result.head_dim = **hidden_size / **heads * result.family.head_dim_multiple;
  return {};
}

// The rotated tensor counts as the head; the config's own head_dim means something else.
Status read_latent_dims(const ConfigObject& config, ModelConfig& result) {
  const auto rope_dim = read_integer(config, "qk_rope_head_dim");
  if (!rope_dim) return rope_dim.error();
  const auto nope_dim = read_integer(config, "qk_nope_head_dim");
  if (!nope_dim) return nope_dim.error();
  result.head_dim = rope_dim->value_or(result.family.latent->rope_dim);
  result.nope_head_dim = nope_dim->value_or(result.family.latent->nope_dim);
  if (result.nope_head_dim < 0) {
    return malformed_input(config.path, "qk_nope_head_dim must be >= 0, got ",
                           result.nope_head_dim);
  }
  return {};
}

Status read_head_dim(const ConfigObject& config, ModelConfig& result) {
  const Family& family = result.family;
  if (result.encoding != LayerEncoding::rotary) return {};
  if (family.latent) return read_latent_dims(config, result);
  const auto key = present(config, family.keys.head_dim, ConfigKeys().head_dim);
  const auto head_dim = read_integer(config, key);
  if (!head_dim) return head_dim.error();
  if (*head_dim && family.reads_head_dim) {
    result.head_dim = **head_dim;
  } else if (family.head_dim != 0 && config.object->find(key) == nullptr) {
    result.head_dim = family.head_dim;
  } else {
    if (*head_dim) {
      result.warnings.push_back(message(config.path, "head_dim is ignored: the family ",
                                        family.model_type, " divides ", family.keys.hidden_size,
                                        " by ", family.keys.heads));
    }
    if (auto status = divide_heads(config, result); !status) return status;
  }
  result.full_head_dim = result.head_dim;
  if (family.full_head_dim_key.empty()) return {};
  const auto full_head_dim = read_integer(config, family.full_head_dim_key);
  if (!full_head_dim) return full_head_dim.error();
  result.full_head_dim = full_head_dim->value_or(family.full_head_dim);
  return {};
}

// Reads the first of two keys that is present.
Status read_either(const ConfigObject& config, std::array<std::string_view, 2> keys,
                   ModelConfig& result, std::optional<double>& into) {
  for (const std::string_view key : keys) {
    if (key.empty()) continue;
    const auto value = read_number(config, key);
    if (!value) return value.error();
    if (into && *value && **value != *into) {
      result.warnings.push_back(message(config.path, keys[0], " and ", config.path, keys[1],
                                        " differ, ", *into, " and ", **value,
                                        "; the former is used"));
    }
    if (!into) into = *value;
  }
  return {};
}

Status read_lengths(const ConfigObject& config, ModelConfig& result) {
  const auto key = present(config, result.family.keys.positions, ConfigKeys().positions);
  const auto positions = read_integer(config, key);
  if (!positions) return positions.error();
  if (*positions && **positions < 1) {
    return malformed_input(config.path, key, " must be >= 1, got ", **positions);
  }
  result.max_position_embeddings = *positions;
  const auto original = read_integer(config, "original_max_position_embeddings");
  if (!original) return original.error();
  result.original_max_position_embeddings = *original;
  return {};
}

Status read_rotary_dim(const ConfigObject& config, ModelConfig& result) {
  if (!reads_key(result.family, "rotary_dim")) return {};
  if (config.object->find("rotary_dim") != nullptr && find(config, "rotary_dim") == nullptr &&
      result.family.partial == PartialRotary::dimension) {
    return malformed_input(config.path, "rotary_dim must be an integer, got null");
  }
  const auto rotary_dim = read_integer(config, "rotary_dim");
  if (!rotary_dim) return rotary_dim.error();
  result.rotary_dim = *rotary_dim;
  return {};
}

// Reads the base beside the dictionary, unless it belongs to one layer type.
Status read_base(const ConfigObject& config, ModelConfig& result) {
  const Family& family = result.family;
  const bool is_beside =
      result.encoding == LayerEncoding::rotary && family.reads_rope_parameters && !family.two_bases;
  const Json* const given = find(config, family.base_key);
  const bool is_list =
      family.labels == RopeLabels::per_layer_lists && given != nullptr && given->is_array();
  if (!is_beside || is_list || family.labels == RopeLabels::main_and_compress) return {};
  ConfigObject object = config;
  if (const Json* const inner = find(config, family.base_object); inner != nullptr)
    object = {.object = inner, .path = message(config.path, family.base_object, ".")};
  if (!object.object->is_object()) {
    return malformed_input(config.path, family.base_object, " must be an object, got ",
                           describe(*object.object));
  }
  if (auto status =
          read_either(object, {family.base_key, family.other_base_key}, result, result.rope_theta);
      !status)
    return status;
  if (family.base_ratio_key.empty()) return {};
  const auto ratio = read_number(config, family.base_ratio_key);
  if (!ratio) return ratio.error();
  if (*ratio) result.rope_theta = result.rope_theta.value_or(family.base.value_or(0)) * **ratio;
  return {};
}

Status read_numbers_of_rope(const ConfigObject& config, ModelConfig& result) {
  const Family& family = result.family;
  if (auto status = read_rotary_dim(config, result); !status) return status;
  if (auto status = read_base(config, result); !status) return status;
  if (!family.reads_rope_parameters) return {};
  if (auto status = read_either(config, {family.fraction_key, family.other_fraction_key}, result,
                                result.partial_rotary_factor);
      !status)
    return status;
  if (family.labels != RopeLabels::main_and_compress || result.partial_rotary_factor) return {};
  const auto turning = read_integer(config, "qk_rope_head_dim");
  if (!turning) return turning.error();
  if (*turning) {
    result.partial_rotary_factor =
        static_cast<double>(**turning) / static_cast<double>(result.head_dim);
  }
  return {};
}

Status read_pairing(const ConfigObject& config, ModelConfig& result) {
  Family& family = result.family;
  if (family.interleave_key.empty()) return {};
  const auto interleaves = read_boolean(config, family.interleave_key);
  if (!interleaves) return interleaves.error();
  if (*interleaves) family.pairing = **interleaves ? family.interleaved_pairing : Pairing::half;
  return {};
}

Status read_layout(const ConfigObject& config, ModelConfig& result) {
  if (result.encoding != LayerEncoding::rotary) return {};
  auto layout = read_rope_layout(config, result.family, result.layer_types, result.warnings);
  if (!layout) return std::move(layout).error();
  result.layout = *std::move(layout);
  return {};
}

}  // namespace

Result<ModelConfig> read_model_config(const ConfigObject& config, const Family& family) {
  ModelConfig result;
  result.object = config;
  result.family = family;
  for (const auto step : {read_encoding, read_head_dim, read_layers, read_lengths,
                          read_numbers_of_rope, read_pairing, read_layout}) {
    if (auto status = step(config, result); !status) return std::move(status).error();
  }
  return result;
}

}  // namespace rotary
