// SPDX-License-Identifier: Apache-2.0
// Architectures whose pairs are features i and i + d/2.
#include <array>
#include <cstdint>

#include "model/gguf/architecture_rows.hpp"

namespace rotary {
namespace {

// Sliding layers with the base 10000 and no scaling.
constexpr SlidingForm of_base_10000(SlidingIf present, std::int64_t period = 0) {
  return {.present = present,
          .period = period,
          .base = SlidingBase::ten_thousand,
          .rule = SlidingRule::unscaled};
}

// Sorted by name. See architectures.hpp for the source.
constexpr std::array halves = std::to_array<GgufArchitecture>({
    {.name = "afmoe",
     .rope = RopeType::neox,
     .sliding = {.present = SlidingIf::windowed, .period = 4},
     .rotating = Rotating::not_every_fourth},
    {.name = "apertus bailingmoe2 bitnet codeshell cogvlm dbrx dots1 dream eurobert "
             "exaone falcon-h1 gemma gptneox grovemoe hrm_text hunyuan-moe hy_v3 "
             "jais2 jina-bert-v3 lfm2 lfm2moe llada-moe minimax-m2 minimax-m3 "
             "nemotron nomic-bert nomic-bert-moe olmoe openelm orion pangu-embedded "
             "phi2 phi3 phimoe plamo plamo2 qwen qwen2 qwen2moe qwen3 qwen3moe rnd1 "
             "seed_oss stablelm starcoder2 talkie",
     .rope = RopeType::neox},
    // Uses the graph of deepseek2, which passes NEOX for this architecture.
    {.name = "deepseek2-ocr", .rope = RopeType::neox, .yarn_in_softmax = true},
    {.name = "exaone-moe",
     .rope = RopeType::neox,
     .sliding = {.present = SlidingIf::always, .period = 4, .base = SlidingBase::ignored},
     .rotating = Rotating::sliding},
    {.name = "exaone4",
     .rope = RopeType::neox,
     .sliding = {.present = SlidingIf::of_64, .period = 4, .base = SlidingBase::ignored},
     .rotating = Rotating::sliding},
    {.name = "falcon", .rope = RopeType::neox, .is_whole_head = true},
    {.name = "gemma-embedding",
     .rope = RopeType::neox,
     .sliding = of_base_10000(SlidingIf::always, 6)},
    {.name = "gemma2 gpt-oss",
     .rope = RopeType::neox,
     .sliding = {.present = SlidingIf::always, .period = 2}},
    {.name = "gemma3", .rope = RopeType::neox, .sliding = of_base_10000(SlidingIf::windowed, 6)},
    {.name = "gemma3n", .rope = RopeType::neox, .sliding = of_base_10000(SlidingIf::always, 5)},
    {.name = "gemma4 gemma4-assistant",
     .rope = RopeType::neox,
     .sliding = of_base_10000(SlidingIf::always),
     .factors_on_full_only = true},
    {.name = "glm4moe", .rope = RopeType::neox_or_mrope},
    {.name = "grok", .rope = RopeType::neox, .reads_betas = true},
    {.name = "hunyuan-dense", .rope = RopeType::neox, .reads_alpha = true},
    {.name = "hunyuan_vl", .rope = RopeType::neox_or_mrope, .reads_alpha = true},
    {.name = "laguna",
     .rope = RopeType::neox,
     .sliding = {.present = SlidingIf::windowed,
                 .period = 4,
                 .dense_first = true,
                 .rule = SlidingRule::plain}},
    {.name = "maple",
     .rope = RopeType::neox,
     .sliding = {.present = SlidingIf::always},
     .rotating = Rotating::sliding},
    {.name = "mellum olmo2",
     .rope = RopeType::neox,
     .sliding = {.present = SlidingIf::windowed,
                 .period = 4,
                 .base = SlidingBase::ignored,
                 .rule = SlidingRule::plain}},
    {.name = "mimo2", .rope = RopeType::neox, .sliding = of_base_10000(SlidingIf::always)},
    {.name = "minicpm3", .rope = RopeType::neox, .is_latent = true},
    {.name = "minimax-01", .rope = RopeType::neox, .recurrent = Recurrent::interval_8},
    {.name = "modern-bert",
     .rope = RopeType::neox,
     .sliding = {.present = SlidingIf::windowed,
                 .period = 3,
                 .dense_first = true,
                 .base = SlidingBase::ten_thousand,
                 .rule = SlidingRule::unscaled}},
    {.name = "paddleocr qwen2vl", .rope = RopeType::mrope},
    {.name = "plamo3", .rope = RopeType::neox, .sliding = of_base_10000(SlidingIf::windowed, 8)},
    {.name = "qwen35 qwen35moe qwen4exp",
     .rope = RopeType::imrope,
     .recurrent = Recurrent::interval_4},
    {.name = "qwen3next", .rope = RopeType::neox, .recurrent = Recurrent::interval_4},
    {.name = "qwen3tts qwen3vl qwen3vlmoe", .rope = RopeType::imrope},
    {.name = "smallthinker",
     .rope = RopeType::neox,
     .sliding = {.present = SlidingIf::windowed, .period = 4, .dense_first = true},
     .rotating = Rotating::not_first_of_four},
    {.name = "spark2_5", .rope = RopeType::neox, .sliding = {.present = SlidingIf::always}},
    {.name = "step35",
     .rope = RopeType::neox,
     .sliding = of_base_10000(SlidingIf::always),
     .factors_on_full_only = true,
     .half_on_full = true},
});

}  // namespace

std::span<const GgufArchitecture> half_gguf_architectures() { return halves; }

}  // namespace rotary
