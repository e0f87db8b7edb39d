// SPDX-License-Identifier: Apache-2.0
#include "model/rope/rope_keys.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/spelling.hpp"
#include "model/json/config_json.hpp"
#include "model/other_names.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

// Switches that have no effect with the value in the constant's name.
constexpr std::string_view harmless_if_true =
    "rope rotary rope_full_precision use_rope original_rope use_rotary_pos_emb";
constexpr std::string_view harmless_if_false =
    "use_mrope rotary_value use_mem_rope rope_interleaved use_layer3d_rope "
    "position_embedding_xdrope";

// Keys that choose kernels (in original files of Phi, ERNIE, Megatron).
constexpr std::string_view kernel_choices = "flash_rotary fuse_rope apply_rope_fusion";

bool is_harmless(std::string_view key, const Json& value) {
  if (key == "qk_rope_head_dim" && value == Json(std::int64_t{0})) return true;  // no such tensor
  if (key == "rope_position_scale" && value == Json(1.0)) return true;
  if (!value.is_boolean()) return false;
  return has_word(kernel_choices, key) ||
         has_word(value.boolean() ? harmless_if_true : harmless_if_false, key);
}

// The keys that only families with these layers or labels read.
std::string_view keys_of(RotaryLayers rotating) {
  if (rotating == RotaryLayers::no_rope_layers) return "no_rope_layers no_rope_layer_interval";
  const bool has_bases =
      rotating == RotaryLayers::layer_rope_theta || rotating == RotaryLayers::nonzero_theta;
  return has_bases ? "layer_rope_theta" : "";
}

std::string_view keys_of(RopeLabels labels) {
  if (labels == RopeLabels::main_and_compress) return "compress_rope_theta qk_rope_head_dim";
  return labels == RopeLabels::per_layer_lists ? "partial_rotary_factors" : "";
}

// Keys that some family reads. Configs of other families may have inherited these keys.
constexpr std::array<std::string_view, 12> known = {
    "swa_rope_theta",  "rope_theta",      "rope_scaling",          "rope_parameters",
    "rotary_pct",      "rotary_emb_base", "partial_rotary_factor", "rotary_dim",
    "rope_interleave", "attn_rotary_emb", "rope_max_length",       "qk_rope_head_dim"};

// Keys of SAM 2's attention to memories: sizes of grids, and dropout.
constexpr std::string_view of_memories =
    "memory_attention_rope_feat_sizes memory_attention_rope_q_sizes memory_attention_rope_k_sizes "
    "memory_attention_rope_dropout rope_feat_sizes rope_dropout";

}  // namespace

bool speaks_of_rope(std::string_view original) {
  const std::string lower = to_lower(original);
  std::string_view key = lower;
  constexpr std::array<std::string_view, 4> beginnings = {"rope", "rotary", "mrope", "xdrope"};
  while (true) {
    for (const std::string_view each : beginnings) {
      if (key.substr(0, each.size()) == each) return true;
    }
    const auto underscore = key.find('_');
    if (underscore == std::string_view::npos) return false;
    key.remove_prefix(underscore + 1);
  }
}

bool reads_key(const Family& family, std::string_view key) {
  if (key.empty()) return false;
  if (key == "rotary_dim") {
    return family.part.given_by == PartialRotary::dimension ||
           family.part.rotary_dim_key != RotaryDimKey::ignored;
  }
  if (key == family.pairing_switch.key || key == family.rope.scaled_layers_key) return true;
  if (key == "rotary_scaling_factor") return family.rope.dialect == RopeDialect::nomic;
  if (key == "use_mem_rope") return family.choice.key == key;
  if (family.head.latent && key == "qk_rope_head_dim") return true;
  const bool has_sliding = family.head.latent && family.head.latent->sliding_nope_dim != 0;
  if (has_sliding && key == "swa_qk_rope_head_dim") return true;
  if (has_word(keys_of(family.layers.rotating), key)) return true;
  if (has_word(keys_of(family.rope.labels), key)) return true;
  if (key == "rope_3d") return family.axes.given_by != AxisShares::one_axis;
  if (key == family.axes.key || key == family.keys.positions) return true;
  if (!family.rope.is_read) return false;
  const auto& bases = family.rope.two_bases;
  if (bases && (key == bases->full_key || key == bases->sliding_key)) return true;
  const bool is_base = key == family.base.key && !bases;
  return is_base || key == "rope_scaling" || key == "rope_parameters" || key == family.part.key ||
         key == family.base.other_key || key == family.part.other_key ||
         key == family.base.ratio_key;
}

void refuse_rope_key(Reader& config, std::string_view key, const Json& value,
                     std::string_view next_step) {
  config.not_supported(shorten(key),
                       " is not understood, and ignoring it could turn keys wrongly; got ",
                       describe(value), next_step);
}

void check_rope_keys(Reader& config, const Family& family) {
  for (const auto& [key, value] : config.members()) {
    if (!speaks_of_rope(key) || value.is_null() || reads_key(family, key)) continue;
    const std::string_view name = key;
    // DeepSeek-V3.2's and GLM-5's indexer selects keys to attend to; no spec describes it.
    if (is_harmless(key, value) || (family.head.latent && key == "indexer_rope_interleave") ||
        (!family.head.divided_by.empty() && has_word(of_memories, key))) {
      config.accept({&name, 1});  // the config's tree outlives its reader
      continue;
    }
    // An unknown model may read the key.
    if (family.model_type.empty()) {
      refuse_rope_key(config, key, value, way_round(config, key));
      return;
    }
    if (std::ranges::find(known, key) == known.end()) {
      refuse_rope_key(config, key, value, did_you_mean(key, known));
      return;
    }
    config.warn(key, " is ignored: the family ", family.model_type, " does not read it");
  }
}

}  // namespace rotary
