// SPDX-License-Identifier: Apache-2.0
// Architectures whose pairs are features 2i and 2i + 1.
#include <array>

#include "model/gguf/architecture_rows.hpp"

namespace rotary {
namespace {

// Sorted by name. See architectures.hpp for the source.
constexpr std::array interleaved = std::to_array<GgufArchitecture>({
    {.name = "arcee arctic bailingmoe chameleon deepseek eagle3 internlm2 llada "
             "minicpm nanbeige olmo xverse",
     .rope = RopeType::norm,
     .converted = Converted::permuted},
    {.name = "baichuan",
     .rope = RopeType::norm,
     .encoding = LayerEncoding::alibi,
     .converted = Converted::permuted},
    {.name = "bailingmoe3", .rope = RopeType::norm_or_mrope, .is_latent = true},
    {.name = "chatglm command-r ernie4_5 ernie4_5-moe maincoder neo-bert pockettts",
     .rope = RopeType::norm},
    {.name = "cohere2",
     .rope = RopeType::norm,
     .sliding = {.present = SlidingIf::always, .period = 4},
     .rotating = Rotating::sliding},
    {.name = "cohere2moe",
     .rope = RopeType::norm,
     .sliding = {.present = SlidingIf::always,
                 .period = 4,
                 .dense_first = true,
                 .base = SlidingBase::ignored},
     .rotating = Rotating::sliding},
    {.name = "deci llama llama-embed",
     .rope = RopeType::norm,
     .converted = Converted::permuted,
     .is_whole_head = true},
    {.name = "deepseek2 mistral4",
     .rope = RopeType::norm,
     .temperature = GgufTemperature::keys,
     .is_latent = true,
     .has_yarn_multiplier = true,
     .yarn_in_softmax = true},
    {.name = "deepseek32", .rope = RopeType::norm, .is_latent = true, .has_yarn_multiplier = true},
    {.name = "deepseek4",
     .rope = RopeType::norm,
     .refusal = "layers with compressed keys, which turn with a base of their own and turn back in "
                "the output"},
    {.name = "dots3note",
     .rope = RopeType::norm,
     .refusal = "latent attention of two widths, and an indexer that turns other pairs"},
    {.name = "glm-dsa", .rope = RopeType::norm, .is_latent = true, .yarn_in_softmax = true},
    {.name = "glm4", .rope = RopeType::norm_or_mrope, .converted = Converted::to_half},
    {.name = "granite granitehybrid granitemoe graniteswitch",
     .rope = RopeType::norm,
     .converted = Converted::permuted,
     .rotating = Rotating::if_finetuned},
    {.name = "granite_swa",
     .rope = RopeType::norm,
     .converted = Converted::permuted,
     .sliding = {.present = SlidingIf::always, .base = SlidingBase::ignored},
     .rotating = Rotating::rope_pattern},
    {.name = "hy_v4 plm", .rope = RopeType::norm, .is_latent = true},
    {.name = "llama4",
     .rope = RopeType::norm,
     .sliding = {.present = SlidingIf::not_zero, .period = 4},
     .rotating = Rotating::not_every_fourth,
     .temperature = GgufTemperature::llama4},
    {.name = "mistral3",
     .rope = RopeType::norm,
     .converted = Converted::permuted,
     .temperature = GgufTemperature::mistral3,
     .reads_betas = true},
    {.name = "muse-glimmer",
     .rope = RopeType::norm,
     .sliding = {.present = SlidingIf::always, .period = 4, .rule = SlidingRule::unscaled},
     .rotating = Rotating::sliding},
    {.name = "smollm3",
     .rope = RopeType::norm,
     .converted = Converted::permuted,
     .rotating = Rotating::not_every_fourth},
});

}  // namespace

std::span<const GgufArchitecture> interleaved_gguf_architectures() { return interleaved; }

}  // namespace rotary
