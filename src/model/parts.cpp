// SPDX-License-Identifier: Apache-2.0
#include "model/parts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "model/families.hpp"
#include "model/params_json.hpp"

namespace rotary {
namespace {

// A config inside that of `around`. family: used if it names no model_type or the outer one's.
struct Tower {
  std::string_view around;
  std::string_view family;
  std::string_view key = "vision_config";
};

constexpr std::string_view backbone_key = "backbone_config";

// Towers missing from the table in wrappers.cpp. Sources: sub_configs of the configuration files in
// Transformers 5.24; for ernie4_5_moe_vl, its authors' files.
constexpr std::array vision_towers = {
    Tower{"ernie4_5_moe_vl", "ernie4_5_vl_moe_vision"},
    Tower{"inkling2", "inkling2_vision"},
    Tower{"inkling2_loop", "inkling2_vision"},
    Tower{"phi4_multimodal", "phi4_multimodal_vision"},
    Tower{"sam3", "sam3_vision_model"},
    Tower{"sam3_lite_text", "sam3_vision_model"},
    Tower{"sam3_vision_model", "sam3_vit_model", backbone_key},
};

constexpr std::string_view audio_key = "audio_config";

constexpr std::array audio_towers = {
    Tower{"audioflamingo3", "audioflamingo3_encoder", audio_key},
    Tower{"dia", "dia_encoder", "encoder_config"},
    Tower{"dots3_note", "dots3_note_audio_encoder", audio_key},
    Tower{"glmasr", "glmasr_encoder", audio_key},
    Tower{"musicflamingo", "audioflamingo3_encoder", audio_key},
    Tower{"qwen2_5_omni_thinker", "qwen2_5_omni_audio_encoder", audio_key},
    Tower{"qwen2_audio", "qwen2_audio_encoder", audio_key},
    Tower{"qwen3_omni_moe_thinker", "qwen3_omni_moe_audio_encoder", audio_key},
    Tower{"voxtral", "voxtral_encoder", audio_key},
    Tower{"voxtral_realtime", "voxtral_realtime_encoder", audio_key},
};

std::optional<Tower> tower_of(std::string_view around, ModelPart part) {
  const auto find = [&](std::span<const Tower> rows) -> std::optional<Tower> {
    const auto found = std::ranges::find(rows, around, &Tower::around);
    return found == rows.end() ? std::nullopt : std::optional(*found);
  };
  if (part != ModelPart::vision) return find(audio_towers);
  const auto wrapper = std::ranges::find(wrappers(), around, &Wrapper::model_type);
  if (wrapper == wrappers().end() || wrapper->vision.empty()) return find(vision_towers);
  return Tower{around, wrapper->vision};
}

std::string path_of(const Reader& reader) {
  return reader.path().substr(0, reader.path().size() - (reader.path().empty() ? 0 : 1));
}

// The tower's config; nothing if the key is absent or its value is not an object.
std::optional<PartConfig> inner_config(const PartConfig& around, const Tower& tower) {
  const Json* const found = around.reader.find(tower.key);
  if (found == nullptr || !found->is_object()) return {};
  Reader outer = around.reader;
  PartConfig inner = part_config(*outer.object(tower.key), tower.family);
  if (!tower.family.empty() && inner.family == around.model_type) inner.family = tower.family;
  inner.sizes = class_sizes("", inner.family);
  return inner;
}

// The config of a part of `around`, under the key of a known tower or else under the usual key.
std::optional<PartConfig> part_within(const PartConfig& around, ModelPart part) {
  if (const auto tower = tower_of(around.model_type, part)) {
    auto found = inner_config(around, *tower);
    if (!found) return {};
    auto deeper = part_within(*found, part);  // a backbone
    return deeper ? deeper : found;
  }
  const std::string_view usual = part == ModelPart::vision ? "vision_config" : audio_key;
  return inner_config(around, {.around = {}, .family = {}, .key = usual});
}

// The tower of Pixtral in Mistral's own format.
constexpr Tower of_params{"", "mistral_vision_encoder", "vision_encoder"};

std::optional<PartConfig> find_tower(const std::vector<PartConfig>& levels, ModelPart part) {
  if (is_params_json(levels.front().reader))
    return part == ModelPart::vision ? inner_config(levels.front(), of_params) : std::nullopt;
  for (const PartConfig& level : levels) {
    if (auto found = part_within(level, part)) return found;
  }
  return {};
}

bool is_tower_alone(const std::vector<PartConfig>& levels, ModelPart part) {
  const auto rows = vision_families();
  return part == ModelPart::vision && levels.size() == 1 &&
         std::ranges::find(rows, levels.front().family, &Family::model_type) != rows.end();
}

std::vector<PartInfo> parts_of(const std::vector<PartConfig>& levels) {
  const bool is_tower = is_tower_alone(levels, ModelPart::vision);
  std::vector<PartInfo> parts = {{.part = is_tower ? ModelPart::vision : ModelPart::text,
                                  .config_part = path_of(levels.back().reader),
                                  .model_type = levels.back().model_type}};
  for (const ModelPart part : {ModelPart::vision, ModelPart::audio}) {
    const auto found = find_tower(levels, part);
    if (found) parts.push_back({part, path_of(found->reader), found->model_type});
  }
  return parts;
}

}  // namespace

PartConfig find_part(const Reader& config, ModelPart part) {
  std::vector<PartConfig> levels = nested_configs(config);
  if (config.failed() || part == ModelPart::text) return std::move(levels.back());
  config.findings().warnings.clear();  // about the language model
  if (is_tower_alone(levels, part)) return std::move(levels.front());
  if (auto found = find_tower(levels, part)) return *std::move(found);
  std::string names;
  for (const PartInfo& each : parts_of(levels))
    names += message(names.empty() ? "" : ", ", to_string(each.part));
  config.findings().fail(invalid_argument(
      "part must be one that the config has, ", names, "; got ", to_string(part), ", which needs ",
      part == ModelPart::vision ? "vision_config" : audio_key, " in a model known to have it"));
  return std::move(levels.back());
}

std::vector<PartInfo> list_parts(const Reader& config) { return parts_of(nested_configs(config)); }

}  // namespace rotary
