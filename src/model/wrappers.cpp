// SPDX-License-Identifier: Apache-2.0
#include "model/wrappers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "model/families.hpp"
#include "model/json/config_json.hpp"
#include "model/rope/rope_keys.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

// From sub_configs and __post_init__ of the configuration files in Transformers 5.24; bailingmm,
// internvl_chat, kimi_k3, kimi_vl, deepseek_vl_v2, llava_llama (LLaVA, VILA), locateanything,
// maira2, mixtral_multimodal (VITA), multi_modality (DeepSeek-VL, Janus), ovis and ovis2_5 from
// configs of models that come with their own code.
constexpr std::array rows = {
    Wrapper{"align", "align_text_model"},
    Wrapper{"altclip", "altclip_text_model"},
    Wrapper{"apertus1p5", "apertus1p5_text"},
    Wrapper{"aria", "aria_text", "idefics3_vision"},
    Wrapper{"audioflamingo3 fast_vlm musicflamingo pp_chart2table qwen2_audio vibevoice_asr",
            "qwen2"},
    Wrapper{"aya_vision cohere2_vision", "cohere2", "siglip_vision_model"},
    Wrapper{"bailingmm", "bailing_moe", "", "llm_config"},
    Wrapper{"blip", "blip_text_model", "blip_vision_model"},
    Wrapper{"blip-2", "opt", "blip_2_vision_model"},
    Wrapper{"chinese_clip", "chinese_clip_text_model", "chinese_clip_vision_model"},
    Wrapper{"clap", "clap_text_model"},
    Wrapper{"clip", "clip_text_model", "clip_vision_model"},
    Wrapper{"clipseg", "clipseg_text_model"},
    Wrapper{"cohere_compass", "cohere_compass_text", "cohere_compass_vision"},
    Wrapper{"colmodernvbert", "modernvbert", "", "vlm_config"},
    Wrapper{"colpali pi0", "paligemma", "", "vlm_config"},
    Wrapper{"colqwen2", "qwen2_vl", "", "vlm_config"},
    Wrapper{"cosmos3_edge", "cosmos3_edge_text", "cosmos3_edge_vision"},
    Wrapper{"cosmos3_omni qwen3_vl", "qwen3_vl_text", "qwen3_vl_vision"},
    Wrapper{"deepseek_ocr2", "deepseek_ocr2_text"},
    Wrapper{"deepseek_vl", "llama", "siglip_vision_model"},
    Wrapper{"deepseek_vl_hybrid glmasr maira2 omniasr perception_lm voxtral", "llama"},
    Wrapper{"deepseek_vl_v2", "deepseek_v2", "", "language_config"},
    Wrapper{"dia", "dia_decoder", "", "decoder_config"},
    Wrapper{"diffusion_gemma", "diffusion_gemma_text", "gemma4_vision"},
    Wrapper{"dots3_note", "dots3_note_text", "dots3_note_vision_encoder"},
    Wrapper{"embedding_gemma2", "embedding_gemma2_text"},
    Wrapper{"emu3", "emu3_text_model"},
    Wrapper{"ernie4_5_vl_moe", "ernie4_5_vl_moe_text", "ernie4_5_vl_moe_vision"},
    Wrapper{"exaone4_5", "exaone4", "exaone4_5_vision"},
    Wrapper{"florence2", "bart"},
    Wrapper{"fun_asr_nano moss_transcribe_diarize qwen3_asr", "qwen3"},
    Wrapper{"fuyu", "persimmon"},
    Wrapper{"gemma3 shieldgemma2", "gemma3_text", "siglip_vision_model"},
    Wrapper{"gemma3n", "gemma3n_text"},
    Wrapper{"gemma4", "gemma4_text", "gemma4_vision"},
    Wrapper{"gemma4_assistant", "gemma4_text"},
    Wrapper{"gemma4_unified gemma4_unified_assistant", "gemma4_unified_text"},
    Wrapper{"glm46v glm4v glmga", "glm4v_text", "glm4v_vision"},
    Wrapper{"glm4v_moe", "glm4v_moe_text", "glm4v_moe_vision"},
    Wrapper{"glm5_next", "glm5_next_text", "glm5_next_vision"},
    Wrapper{"glm_image", "glm_image_text", "glm_image_vision"},
    Wrapper{"glm_ocr", "glm_ocr_text", "glm_ocr_vision"},
    Wrapper{"got_ocr2", "qwen2", "got_ocr2_vision"},
    Wrapper{"granite4_vision", "granite4_vision_text", "clip_vision_model"},
    Wrapper{"granite_docling", "granite_docling_text"},
    Wrapper{"granite_speech granite_speech_plus", "granite"},
    Wrapper{"groupvit", "groupvit_text_model"},
    Wrapper{"hunyuan_vl", "hunyuan_vl_text", "hunyuan_vl_vision"},
    Wrapper{"hy_v4_vl", "hy_v4_vl_text"},
    Wrapper{"hyperclovax_vision_v2", "hyperclovax", "qwen2_5_vl_vision"},
    Wrapper{"idefics2", "mistral", "idefics2_vision"},
    Wrapper{"idefics3", "llama", "idefics3_vision"},
    Wrapper{"instructblip", "opt", "instructblip_vision_model"},
    Wrapper{"instructblipvideo", "opt"},
    Wrapper{"internvl", "qwen2", "internvl_vision"},
    Wrapper{"internvl_chat", "", "intern_vit_6b", "llm_config"},
    Wrapper{"janus", "llama", "janus_vision_model"},
    Wrapper{"jev minicpm_ocr", "qwen3_5_text"},
    Wrapper{"kimi_k25", "deepseek_v3", "kimi_k25_vision"},
    Wrapper{"kimi_k3", "kimi_linear", "kimi_k3_vision"},
    Wrapper{"kimi_vl", "deepseek_v3", "moonvit"},
    Wrapper{"kosmos-2", "kosmos_2_text_model", "kosmos_2_vision_model"},
    Wrapper{"kosmos-2.5", "kosmos_2_5_text_model"},
    Wrapper{"lfm2_vl", "lfm2", "siglip2_vision_model"},
    Wrapper{"lfm3_vl", "lfm3", "lfm3_vl_vision"},
    Wrapper{"lighton_ocr", "qwen3", "pixtral"},
    Wrapper{"llama4", "llama4_text", "llama4_vision_model"},
    Wrapper{"llava llava_next llava_next_video video_llava vipllava", "llama", "clip_vision_model"},
    Wrapper{"llava_llama", "llama", "", "llm_cfg"},
    Wrapper{"llava_onevision", "qwen2", "siglip_vision_model"},
    Wrapper{"locateanything", "qwen2", "moonvit"},
    Wrapper{"metaclip_2", "metaclip_2_text_model"},
    Wrapper{"minicpmv4_6", "qwen3_5_text", "minicpmv4_6_vision"},
    Wrapper{"minicpmv4_7", "qwen3_5_text", "minicpmv4_7_vision"},
    Wrapper{"minimax_m3_vl", "minimax_m3_vl_text", "minimax_m3_vl_vision"},
    Wrapper{"mistral3", "mistral", "pixtral"},
    Wrapper{"mistral_large4", "mistral_large4_text", "pixtral"},
    Wrapper{"mixtral_multimodal", "mixtral"},
    Wrapper{"mllama", "mllama_text_model", "mllama_vision_model"},
    Wrapper{"modernvbert", "modernbert", "siglip_vision_model"},
    Wrapper{"molmo2", "molmo2_text", "molmo2_vision"},
    Wrapper{"multi_modality", "llama", "", "language_config"},
    Wrapper{"muse_glimmer", "muse_glimmer_text", "muse_glimmer_vision"},
    Wrapper{"muse_spark", "muse_spark_text", "muse_spark_vision"},
    Wrapper{"musicgen", "musicgen_decoder", "", "decoder"},
    Wrapper{"musicgen_melody", "musicgen_melody_decoder", "", "decoder"},
    Wrapper{"nemo_speechlm nemotron_h_omni", "nemotron_h"},
    Wrapper{"ovis ovis2_5", "", "", "llm_config"},
    Wrapper{"ovis2", "qwen2", "ovis2_vision"},
    Wrapper{"owlv2", "owlv2_text_model"},
    Wrapper{"owlvit", "owlvit_text_model"},
    Wrapper{"paddleocr_vl", "paddleocr_vl_text", "paddleocr_vl_vision"},
    Wrapper{"paligemma", "gemma", "siglip_vision_model"},
    Wrapper{"pix2struct", "pix2struct_text_model"},
    Wrapper{"qianfan_ocr", "qwen3", "qianfan_ocr_vision"},
    Wrapper{"qwen2_5_omni", "qwen2_5_omni_thinker", "", "thinker_config"},
    Wrapper{"qwen2_5_omni_thinker", "qwen2_5_omni_text", "qwen2_5_omni_vision_encoder"},
    Wrapper{"qwen2_5_omni_token2wav", "qwen2_5_omni_dit", "", "dit_config"},
    Wrapper{"qwen2_5_vl", "qwen2_5_vl_text", "qwen2_5_vl_vision"},
    Wrapper{"qwen2_vl", "qwen2_vl_text", "qwen2_vl_vision"},
    Wrapper{"qwen3_5", "qwen3_5_text", "qwen3_5_vision"},
    Wrapper{"qwen3_5_moe", "qwen3_5_moe_text", "qwen3_5_moe_vision"},
    Wrapper{"qwen3_omni_moe", "qwen3_omni_moe_thinker", "", "thinker_config"},
    Wrapper{"qwen3_omni_moe_thinker", "qwen3_omni_moe_text", "qwen3_omni_moe_vision_encoder"},
    Wrapper{"qwen3_vl_moe", "qwen3_vl_moe_text", "qwen3_vl_moe_vision"},
    Wrapper{"qwen4_exp", "qwen4_exp_text", "qwen4_exp_vision"},
    Wrapper{"siglip", "siglip_text_model", "siglip_vision_model"},
    Wrapper{"siglip2", "siglip2_text_model", "siglip2_vision_model"},
    Wrapper{"smolvlm", "llama", "smolvlm_vision"},
    Wrapper{"step3p7", "step3p5", "step3p5_vision"},
    Wrapper{"t5gemma", "t5_gemma_module", "", "decoder"},
    Wrapper{"t5gemma2_encoder", "t5gemma2_text", "siglip_vision_model"},
    Wrapper{"ultravbert", "ultrabert", "siglip_vision_model"},
    Wrapper{"unlimited_ocr", "unlimited_ocr_text"},
    Wrapper{"vibevoice", "qwen2", "", "text_config", "decoder_config"},
    Wrapper{"video_llama_3", "qwen2", "video_llama_3_vision"},
    Wrapper{"voxtral_realtime", "voxtral_realtime_text"},
    Wrapper{"xclip", "xclip_text_model"},
};

constexpr auto list = [] {
  auto all = row_for_each_word<rows>;
  std::ranges::sort(all, {}, &Wrapper::model_type);
  return all;
}();

const Wrapper* find_wrapper(std::string_view model_type) {
  const auto* const found = std::ranges::find(list, model_type, &Wrapper::model_type);
  return found == list.end() ? nullptr : found;
}

// Warns about rope keys of the outer config that have no effect and differ from the inner ones.
void warn_about_outer_keys(Reader& outer, const Reader& inner) {
  for (const auto& [key, value] : outer.members()) {
    if (value.is_null() || !speaks_of_rope(key)) continue;
    const Json* const within = inner.find(key);
    if (within != nullptr && *within == value) continue;
    outer.warn(shorten(key), " is ignored: the language model's is in ",
               inner.path().substr(0, inner.path().size() - 1));
  }
}

// Whether the wrapper's config itself has the language model's keys. Older files of qwen2_vl do;
// newer ones contain a qwen2_vl_text. Files of LLaVA's authors (llava, llava_llama) have a Llama's
// keys. Older files of ColPali have the text_config without a vlm_config around it.
bool is_flat(const Wrapper& wrapper, const Reader& config) {
  const std::string_view text = wrapper.text_model_type;
  if (text.substr(0, wrapper.model_type.size()) == wrapper.model_type) return true;
  if (wrapper.key == "vlm_config") return config.find("text_config") != nullptr;
  const bool is_llava = wrapper.model_type == "llava" || wrapper.model_type == "llava_llama";
  return is_llava && config.find("hidden_size") != nullptr &&
         config.find("num_attention_heads") != nullptr;
}

// The inner config if its model_type equals the outer one's (Ministral 3 in MLC's list of models),
// or if it has none and the outer config, of a known family, has no hidden size.
const Json* language_model_of_same_type(const PartConfig& found) {
  const Json* const inner = found.reader.find("text_config");
  if (inner == nullptr || !inner->is_object()) return nullptr;
  const Json* const inner_type = inner->find("model_type");
  if (inner_type != nullptr) return *inner_type == found.model_type ? inner : nullptr;
  const Family* const family = find_family(found.family);
  const bool is_whole = family != nullptr && found.reader.find(family->keys.hidden_size) != nullptr;
  return family != nullptr && !is_whole ? inner : nullptr;
}

// Steps from each known wrapper to its inner config. False after an error.
bool enter_wrappers(std::vector<PartConfig>& levels) {
  while (const Wrapper* const wrapper = find_wrapper(levels.back().family)) {
    PartConfig& found = levels.back();
    const bool has_authors = found.reader.find(wrapper->key) == nullptr &&
                             found.reader.find(wrapper->authors_key) != nullptr;
    const std::string_view key = has_authors ? wrapper->authors_key : wrapper->key;
    const Json* const inner = found.reader.find(key);
    if (inner == nullptr && is_flat(*wrapper, found.reader)) {
      found.family = wrapper->text_model_type;
      continue;
    }
    if (inner == nullptr || !inner->is_object()) {
      found.reader.malformed(key, " must be an object, because a ", wrapper->model_type,
                             " keeps its language model's config there; got ",
                             inner == nullptr ? std::string("none") : describe(*inner));
      return false;
    }
    PartConfig deeper = part_config(*found.reader.object(key), wrapper->text_model_type);
    warn_about_outer_keys(found.reader, deeper.reader);
    deeper.sizes = class_sizes(wrapper->model_type, deeper.family);
    levels.push_back(std::move(deeper));
  }
  return true;
}

bool has_sizes(const Reader& config) {
  return std::ranges::any_of(std::array{"hidden_size", "num_attention_heads", "head_dim"},
                             [&](std::string_view key) { return config.find(key) != nullptr; });
}

// The key of the language model's config within a config of unknown model_type, or "".
std::string_view key_within_unknown(const PartConfig& found) {
  const bool is_known = found.model_type.empty() || find_family(found.family) != nullptr ||
                        !reason_to_refuse(found.family).empty() || has_sizes(found.reader);
  if (is_known) return {};
  for (const std::string_view key :
       {"text_config", "llm_config", "language_config", "thinker_config"}) {
    const Json* const inner = found.reader.find(key);
    if (inner != nullptr && inner->is_object()) return key;
  }
  return {};
}

// Steps into the language model's config in a config with an unknown model_type. Keeps the unknown
// name, because engines may read the inner family differently inside an unknown model.
bool enter_unknown(std::vector<PartConfig>& levels) {
  PartConfig& found = levels.back();
  const std::string_view key = key_within_unknown(found);
  if (key.empty()) return false;
  PartConfig deeper = part_config(*found.reader.object(key), "");
  found.reader.warn("model_type ", shorten(found.model_type), " is not known; ", key,
                    " is read as the config of its language model");
  warn_about_outer_keys(found.reader, deeper.reader);
  deeper.sizes = class_sizes("", deeper.family);
  deeper.model_type = found.model_type;
  levels.push_back(std::move(deeper));
  return true;
}

}  // namespace

std::span<const Wrapper> wrappers() { return list; }

PartConfig part_config(Reader config, std::string_view assumed_type) {
  auto given = config.text("model_type");
  if (!given) given = config.text("_class_name");
  const std::string type = given.value_or(std::string(assumed_type));
  return {.reader = std::move(config),
          .model_type = type,
          .family = std::string(family_of(type)),
          .origin = given ? Origin::stated : Origin::family};
}

std::vector<PartConfig> nested_configs(const Reader& config) {
  std::vector<PartConfig> levels = {part_config(config, "")};
  do {
    if (!enter_wrappers(levels)) return levels;
  } while (enter_unknown(levels));
  if (language_model_of_same_type(levels.back()) != nullptr) {
    PartConfig deeper = levels.back();
    deeper.reader = *levels.back().reader.object("text_config");
    warn_about_outer_keys(levels.back().reader, deeper.reader);
    deeper.sizes = class_sizes("", deeper.family);
    levels.push_back(std::move(deeper));
  }
  return levels;
}

}  // namespace rotary
