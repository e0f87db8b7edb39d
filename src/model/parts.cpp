// SPDX-License-Identifier: Apache-2.0
#include "model/parts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/families.hpp"
#include "model/json/config_json.hpp"
#include "model/params_json.hpp"

namespace rotary {
namespace {

// A config within another's, and its family if it names none, or the other's name.
struct Tower {
  std::string_view around;
  std::string_view family;
  std::string_view key = "vision_config";
};

constexpr std::string_view backbone_key = "backbone_config";

// From sub_configs of the configuration files in Transformers 5.24 and, for internvl_chat, kimi_k3,
// kimi_vl, locateanything and ernie4_5_moe_vl, from the files of the models' authors.
constexpr std::array vision_towers = {
    Tower{"aria", "idefics3_vision"},
    Tower{"aya_vision", "siglip_vision_model"},
    Tower{"blip", "blip_vision_model"},
    Tower{"blip-2", "blip_2_vision_model"},
    Tower{"chinese_clip", "chinese_clip_vision_model"},
    Tower{"clip", "clip_vision_model"},
    Tower{"cohere2_vision", "siglip_vision_model"},
    Tower{"cohere_compass", "cohere_compass_vision"},
    Tower{"cosmos3_edge", "cosmos3_edge_vision"},
    Tower{"cosmos3_omni", "qwen3_vl_vision"},
    Tower{"deepseek_vl", "siglip_vision_model"},
    Tower{"diffusion_gemma", "gemma4_vision"},
    Tower{"dots3_note", "dots3_note_vision_encoder"},
    Tower{"ernie4_5_moe_vl", "ernie4_5_vl_moe_vision"},
    Tower{"ernie4_5_vl_moe", "ernie4_5_vl_moe_vision"},
    Tower{"exaone4_5", "exaone4_5_vision"},
    Tower{"gemma3", "siglip_vision_model"},
    Tower{"gemma4", "gemma4_vision"},
    Tower{"glm46v", "glm4v_vision"},
    Tower{"glm4v", "glm4v_vision"},
    Tower{"glm4v_moe", "glm4v_moe_vision"},
    Tower{"glm5_next", "glm5_next_vision"},
    Tower{"glm_image", "glm_image_vision"},
    Tower{"glm_ocr", "glm_ocr_vision"},
    Tower{"glmga", "glm4v_vision"},
    Tower{"got_ocr2", "got_ocr2_vision"},
    Tower{"granite4_vision", "clip_vision_model"},
    Tower{"hunyuan_vl", "hunyuan_vl_vision"},
    Tower{"hyperclovax_vision_v2", "qwen2_5_vl_vision"},
    Tower{"idefics2", "idefics2_vision"},
    Tower{"idefics3", "idefics3_vision"},
    Tower{"inkling2", "inkling2_vision"},
    Tower{"inkling2_loop", "inkling2_vision"},
    Tower{"instructblip", "instructblip_vision_model"},
    Tower{"internvl", "internvl_vision"},
    Tower{"internvl_chat", "intern_vit_6b"},
    Tower{"janus", "janus_vision_model"},
    Tower{"kimi_k25", "kimi_k25_vision"},
    Tower{"kimi_k3", "kimi_k3_vision"},
    Tower{"kimi_vl", "moonvit"},
    Tower{"kosmos-2", "kosmos_2_vision_model"},
    Tower{"lfm2_vl", "siglip2_vision_model"},
    Tower{"lfm3_vl", "lfm3_vl_vision"},
    Tower{"lighton_ocr", "pixtral"},
    Tower{"llama4", "llama4_vision_model"},
    Tower{"llava", "clip_vision_model"},
    Tower{"llava_next", "clip_vision_model"},
    Tower{"llava_next_video", "clip_vision_model"},
    Tower{"llava_onevision", "siglip_vision_model"},
    Tower{"locateanything", "moonvit"},
    Tower{"minicpmv4_6", "minicpmv4_6_vision"},
    Tower{"minicpmv4_7", "minicpmv4_7_vision"},
    Tower{"minimax_m3_vl", "minimax_m3_vl_vision"},
    Tower{"mistral3", "pixtral"},
    Tower{"mistral_large4", "pixtral"},
    Tower{"mllama", "mllama_vision_model"},
    Tower{"modernvbert", "siglip_vision_model"},
    Tower{"molmo2", "molmo2_vision"},
    Tower{"muse_glimmer", "muse_glimmer_vision"},
    Tower{"muse_spark", "muse_spark_vision"},
    Tower{"ovis2", "ovis2_vision"},
    Tower{"paddleocr_vl", "paddleocr_vl_vision"},
    Tower{"paligemma", "siglip_vision_model"},
    Tower{"phi4_multimodal", "phi4_multimodal_vision"},
    Tower{"qianfan_ocr", "qianfan_ocr_vision"},
    Tower{"qwen2_5_omni_thinker", "qwen2_5_omni_vision_encoder"},
    Tower{"qwen2_5_vl", "qwen2_5_vl_vision"},
    Tower{"qwen2_vl", "qwen2_vl_vision"},
    Tower{"qwen3_5", "qwen3_5_vision"},
    Tower{"qwen3_5_moe", "qwen3_5_moe_vision"},
    Tower{"qwen3_omni_moe_thinker", "qwen3_omni_moe_vision_encoder"},
    Tower{"qwen3_vl", "qwen3_vl_vision"},
    Tower{"qwen3_vl_moe", "qwen3_vl_moe_vision"},
    Tower{"qwen4_exp", "qwen4_exp_vision"},
    Tower{"sam3", "sam3_vision_model"},
    Tower{"sam3_lite_text", "sam3_vision_model"},
    Tower{"sam3_vision_model", "sam3_vit_model", backbone_key},
    Tower{"shieldgemma2", "siglip_vision_model"},
    Tower{"siglip", "siglip_vision_model"},
    Tower{"siglip2", "siglip2_vision_model"},
    Tower{"smolvlm", "smolvlm_vision"},
    Tower{"step3p7", "step3p5_vision"},
    Tower{"t5gemma2_encoder", "siglip_vision_model"},
    Tower{"ultravbert", "siglip_vision_model"},
    Tower{"video_llama_3", "video_llama_3_vision"},
    Tower{"video_llava", "clip_vision_model"},
    Tower{"vipllava", "clip_vision_model"},
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

std::span<const Tower> towers(ModelPart part) {
  if (part == ModelPart::vision) return vision_towers;
  if (part == ModelPart::audio) return audio_towers;
  return {};
}

std::string path_of(const Reader& reader) {
  return reader.path().substr(0, reader.path().size() - (reader.path().empty() ? 0 : 1));
}

// An object of the config around it, or nothing: null means that the model lacks the part.
std::optional<PartConfig> inner_config(const PartConfig& around, const Tower& tower) {
  const Json* const found = around.reader.find(tower.key);
  if (found == nullptr || !found->is_object()) return {};
  Reader outer = around.reader;
  PartConfig inner = part_config(*outer.object(tower.key), tower.family);
  if (!tower.family.empty() && inner.family == around.model_type) inner.family = tower.family;
  inner.sizes = class_sizes("", inner.family);
  return inner;
}

// The config of a part within this one; a known model's key before the usual one.
std::optional<PartConfig> part_within(const PartConfig& around, ModelPart part) {
  for (const Tower& each : towers(part)) {
    if (each.around != around.model_type) continue;
    auto found = inner_config(around, each);
    if (!found) return {};
    auto deeper = part_within(*found, part);  // a backbone
    return deeper ? deeper : found;
  }
  const std::string_view usual = part == ModelPart::vision ? "vision_config" : audio_key;
  return inner_config(around, {.around = {}, .family = {}, .key = usual});
}

// Pixtral in Mistral's own format.
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
         std::any_of(rows.begin(), rows.end(),
                     [&](const Family& each) { return each.model_type == levels.front().family; });
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
