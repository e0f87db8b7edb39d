// SPDX-License-Identifier: Apache-2.0
#include "model/families.hpp"

#include <algorithm>
#include <array>

#include "base/guard.hpp"
#include "model/wrappers.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {
namespace {

using Topic = std::span<const Family> (*)();

constexpr std::array<Topic, 13> topics = {
    llama_like_families,     partial_families,  interleaved_families, latent_families,
    layered_families,        two_base_families, multimodal_families,  sound_families,
    other_encoding_families, learned_families,  remote_code_families, vision_families,
    diffusion_families};

// Aliases found in the configs and code of the models' authors.
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

FamilyInfo info(const Family& family) {
  FamilyInfo shown{.model_type = family.model_type,
                   .encoding = family.encoding,
                   .pairing = {},
                   .base = {},
                   .text_model_type = {},
                   .note = family.note,
                   .source = family.source.empty() ? family.model_type : family.source};
  if (shown.source == "-") shown.source = {};
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

}  // namespace

std::string_view family_of(std::string_view model_type) {
  const auto* const found = std::find_if(aliases.begin(), aliases.end(), [&](const Alias& each) {
    return each.model_type == model_type;
  });
  return found == aliases.end() ? model_type : found->family;
}

const Family* find_family(std::string_view model_type) {
  for (const Topic topic : topics) {
    const auto rows = topic();
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const Family& each) {
      return each.model_type == model_type;
    });
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
  for (const Topic topic : topics) {
    for (const Family& each : topic()) names.push_back(each.model_type);
  }
  for (const Alias& each : aliases) names.push_back(each.model_type);
  for (const Wrapper& each : wrappers()) names.push_back(each.model_type);
  return names;
}

Result<std::vector<FamilyInfo>> known_families() noexcept {
  return guarded([]() -> Result<std::vector<FamilyInfo>> {
    std::vector<FamilyInfo> families;
    for (const Topic topic : topics) {
      for (const Family& each : topic()) families.push_back(info(each));
    }
    for (const Alias& each : aliases) families.push_back(info(each));
    for (const Wrapper& each : wrappers()) families.push_back(info(each));
    std::sort(families.begin(), families.end(),
              [](const FamilyInfo& a, const FamilyInfo& b) { return a.model_type < b.model_type; });
    return families;
  });
}

}  // namespace rotary
