// SPDX-License-Identifier: Apache-2.0
#include "model/families.hpp"

#include <algorithm>
#include <utility>

#include "base/guard.hpp"
#include "model/wrappers.hpp"

namespace rotary {
namespace {

using Topic = std::span<const Family> (*)();

constexpr std::array<Topic, 13> topics = {
    llama_like_families,     partial_families,  interleaved_families, latent_families,
    layered_families,        two_base_families, multimodal_families,  sound_families,
    other_encoding_families, learned_families,  remote_code_families, vision_families,
    diffusion_families};

// From configs and code of the models' authors.
constexpr std::array<Alias, 20> aliases = {{
    {"DFNRope_vision_transformer", "ernie4_5_vl_moe_vision",
     "as ernie4_5_vl_moe_vision: Baidu's own files"},
    {"RefinedWeb", "falcon", "as falcon: the authors' own files of Falcon 40B"},
    {"RefinedWebModel", "falcon", "as falcon: the authors' own files of Falcon 7B"},
    {"Yi", "llama", "as llama"},
    {"deepseek_ref", "deepseek_v4", "as deepseek_v4: the FP8 files of SGLang's project"},
    {"dots_ocr", "qwen2", "as qwen2: its language model's keys are beside its own"},
    {"ernie4_5_moe_vl", "ernie4_5_vl_moe_text", "as ernie4_5_vl_moe_text: Baidu's own files"},
    {"exaone4_5_text", "exaone4",
     "as exaone4: the language model of EXAONE 4.5 as first published"},
    {"llava_mistral", "mistral", "as mistral: LLaVA's authors' own files"},
    {"llava_qwen", "qwen2", "as qwen2: LLaVA's authors' own files"},
    {"mimo", "qwen2", "as qwen2: MiMo 7B"},
    {"minicpmo", "qwen2", "as qwen2: its language model's keys are beside its own"},
    {"minicpmv", "qwen2", "as qwen2: its language model's keys are beside its own"},
    {"minimax_m3", "minimax_m3_vl_text", "as minimax_m3_vl_text: files of the text model"},
    {"mixformer-sequential", "phi-msft", "as phi-msft: Phi 1 and 1.5 as first published"},
    {"moss", "codegen", "as codegen"},
    {"phi4mm", "phi4_multimodal", "as phi4_multimodal: Phi-4-multimodal's own files"},
    {"sparsellama", "llama", "as llama: ProSparse"},
    {"stablelm_epoch", "stablelm", "as stablelm: StableLM 3B as first published"},
    {"xverse", "llama", "as llama"},
}};

// Folders in transformers/models whose names do not follow from the model_type.
constexpr auto folders = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"audio-spectrogram-transformer", "audio_spectrogram_transformer"},
    {"bert-generation", "bert_generation"},
    {"blenderbot-small", "blenderbot_small"},
    {"data2vec-text", "data2vec"},
    {"hrm_text", "hrm_text"},
    {"kosmos_2_5_text_model", "kosmos2_5"},
    {"kosmos_2_text_model", "kosmos2"},
    {"kosmos_2_vision_model", "kosmos2"},
    {"kyutai_speech_to_text", "kyutai_speech_to_text"},
    {"megatron-bert", "megatron_bert"},
    {"modernbert-decoder", "modernbert_decoder"},
    {"openai-gpt", "openai"},
    {"pe_audio_encoder", "pe_audio"},
    {"qwen2_audio_encoder", "qwen2_audio"},
    {"roberta-prelayernorm", "roberta_prelayernorm"},
    {"speech_to_text", "speech_to_text"},
    {"xclip_text_model", "x_clip"},
    {"xlm-roberta-xl", "xlm_roberta_xl"},
});

std::string_view source_of(const Family& family) {
  if (family.source == "-") return {};
  if (!family.source.empty()) return family.source;
  const std::string_view name = family.model_type;
  const auto* const own =
      std::ranges::find(folders, name, [](const auto& each) { return each.first; });
  if (own != folders.end()) return own->second;
  for (const std::string_view part :
       {"_text", "_text_model", "_vision", "_vision_model", "_vision_encoder", "_audio_encoder",
        "_encoder", "_decoder"}) {
    if (name.ends_with(part)) return name.substr(0, name.size() - part.size());
  }
  return name;
}

FamilyInfo info(const Family& family) {
  FamilyInfo shown{.model_type = family.model_type,
                   .encoding = family.encoding,
                   .pairing = {},
                   .base = {},
                   .text_model_type = {},
                   .note = family.note,
                   .source = source_of(family)};
  if (family.encoding != LayerEncoding::rotary) return shown;
  shown.pairing = family.pairing;
  const auto& two_bases = family.rope.two_bases;
  shown.base = two_bases ? std::optional(two_bases->full) : family.base.otherwise;
  return shown;
}

FamilyInfo info(const Alias& alias) {
  FamilyInfo shown = info(*find_family(alias.family));
  shown.model_type = alias.model_type;
  shown.note = alias.note;
  return shown;
}

FamilyInfo info(const Wrapper& wrapper) {
  return {.model_type = wrapper.model_type,
          .encoding = LayerEncoding::rotary,
          .pairing = {},
          .base = {},
          .text_model_type = wrapper.text_model_type,
          .note = {},
          .source = wrapper.model_type};
}

// Calls use(row) for each Family, Alias and Wrapper.
template <class Use>
void for_each_name(Use use) {
  for (const Topic topic : topics) std::ranges::for_each(topic(), use);
  std::ranges::for_each(aliases, use);
  std::ranges::for_each(wrappers(), use);
}

}  // namespace

std::string_view family_of(std::string_view model_type) {
  const auto* const found = std::ranges::find(aliases, model_type, &Alias::model_type);
  return found == aliases.end() ? model_type : found->family;
}

const Family* find_family(std::string_view model_type) {
  for (const Topic topic : topics) {
    const auto rows = topic();
    const auto found = std::ranges::find(rows, model_type, &Family::model_type);
    if (found != rows.end()) return &*found;
  }
  return nullptr;
}

const Family& unknown_family() {
  static constexpr Family family = {.base = {.other_key = "rotary_emb_base"},
                                    .part = {.given_by = PartialRotary::fraction,
                                             .other_key = "rotary_pct",
                                             .rotary_dim_key = RotaryDimKey::read},
                                    .axes = {.given_by = AxisShares::sections}};
  return family;
}

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for_each_name([&](const auto& row) { names.push_back(row.model_type); });
  return names;
}

Result<std::vector<FamilyInfo>> known_families() noexcept {
  return guarded([]() -> Result<std::vector<FamilyInfo>> {
    std::vector<FamilyInfo> families;
    for_each_name([&](const auto& row) { families.push_back(info(row)); });
    std::ranges::sort(families, {}, &FamilyInfo::model_type);
    return families;
  });
}

}  // namespace rotary
