// SPDX-License-Identifier: Apache-2.0
#include "model/gguf/architectures.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "model/words.hpp"

namespace rotary {
namespace {

// Sliding layers with the base 10000 and no scaling.
constexpr SlidingForm of_base_10000(SlidingIf present, std::int64_t period = 0) {
  return {.present = present,
          .period = period,
          .base = SlidingBase::ten_thousand,
          .rule = SlidingRule::unscaled};
}

// Architectures whose pairs are features 2i and 2i + 1, sorted by name.
constexpr std::array interleaved = std::to_array<GgufArchitecture>({
    {.name = "arcee arctic bailingmoe chameleon deepseek eagle3 internlm2 llada "
             "minicpm nanbeige olmo xverse",
     .converted = Converted::permuted},
    {.name = "baichuan", .encoding = LayerEncoding::alibi, .converted = Converted::permuted},
    {.name = "bailingmoe3", .rope = RopeType::norm_or_mrope, .is_latent = true},
    {.name = "chatglm command-r ernie4_5 ernie4_5-moe maincoder neo-bert pockettts"},
    {.name = "cohere2",
     .sliding = {.present = SlidingIf::always, .period = 4},
     .rotating = Rotating::sliding},
    {.name = "cohere2moe",
     .sliding = {.present = SlidingIf::always,
                 .period = 4,
                 .dense_first = true,
                 .base = SlidingBase::ignored},
     .rotating = Rotating::sliding},
    {.name = "deci llama llama-embed", .converted = Converted::permuted, .is_whole_head = true},
    {.name = "deepseek2 mistral4",
     .temperature = GgufTemperature::keys,
     .is_latent = true,
     .has_yarn_multiplier = true,
     .yarn_in_softmax = true},
    {.name = "deepseek32", .is_latent = true, .has_yarn_multiplier = true},
    {.name = "deepseek4",
     .refusal = "layers with compressed keys, which turn with a base of their own and turn back in "
                "the output"},
    {.name = "dots3note",
     .refusal = "latent attention of two widths, and an indexer that turns other pairs"},
    {.name = "glm-dsa", .is_latent = true, .yarn_in_softmax = true},
    {.name = "glm4", .rope = RopeType::norm_or_mrope, .converted = Converted::to_half},
    {.name = "granite granitehybrid granitemoe graniteswitch",
     .converted = Converted::permuted,
     .rotating = Rotating::if_finetuned},
    {.name = "granite_swa",
     .converted = Converted::permuted,
     .sliding = {.present = SlidingIf::always, .base = SlidingBase::ignored},
     .rotating = Rotating::rope_pattern},
    {.name = "hy_v4 plm", .is_latent = true},
    {.name = "llama4",
     .sliding = {.present = SlidingIf::not_zero, .period = 4},
     .rotating = Rotating::not_every_fourth,
     .temperature = GgufTemperature::llama4},
    {.name = "mistral3",
     .converted = Converted::permuted,
     .temperature = GgufTemperature::mistral3,
     .reads_betas = true},
    {.name = "muse-glimmer",
     .sliding = {.present = SlidingIf::always, .period = 4, .rule = SlidingRule::unscaled},
     .rotating = Rotating::sliding},
    {.name = "smollm3", .converted = Converted::permuted, .rotating = Rotating::not_every_fourth},
});

// Architectures whose pairs are features i and i + d/2.
constexpr std::array halves = std::to_array<GgufArchitecture>({
    {.name = "afmoe",
     .sliding = {.present = SlidingIf::windowed, .period = 4},
     .rotating = Rotating::not_every_fourth},
    {.name = "apertus bailingmoe2 bitnet codeshell cogvlm dbrx dots1 dream eurobert "
             "exaone falcon-h1 gemma gptneox grovemoe hrm_text hunyuan-moe hy_v3 "
             "jais2 jina-bert-v3 lfm2 lfm2moe llada-moe minimax-m2 minimax-m3 "
             "nemotron nomic-bert nomic-bert-moe olmoe openelm orion pangu-embedded "
             "phi2 phi3 phimoe plamo plamo2 qwen qwen2 qwen2moe qwen3 qwen3moe rnd1 "
             "seed_oss stablelm starcoder2 talkie"},
    // Uses the graph of deepseek2, which passes NEOX for this architecture.
    {.name = "deepseek2-ocr", .yarn_in_softmax = true},
    {.name = "exaone-moe",
     .sliding = {.present = SlidingIf::always, .period = 4, .base = SlidingBase::ignored},
     .rotating = Rotating::sliding},
    {.name = "exaone4",
     .sliding = {.present = SlidingIf::of_64, .period = 4, .base = SlidingBase::ignored},
     .rotating = Rotating::sliding},
    {.name = "falcon", .is_whole_head = true},
    {.name = "gemma-embedding", .sliding = of_base_10000(SlidingIf::always, 6)},
    {.name = "gemma2 gpt-oss", .sliding = {.present = SlidingIf::always, .period = 2}},
    {.name = "gemma3", .sliding = of_base_10000(SlidingIf::windowed, 6)},
    {.name = "gemma3n", .sliding = of_base_10000(SlidingIf::always, 5)},
    {.name = "gemma4 gemma4-assistant",
     .sliding = of_base_10000(SlidingIf::always),
     .factors_on_full_only = true},
    {.name = "glm4moe", .rope = RopeType::neox_or_mrope},
    {.name = "grok", .reads_betas = true},
    {.name = "hunyuan-dense", .reads_alpha = true},
    {.name = "hunyuan_vl", .rope = RopeType::neox_or_mrope, .reads_alpha = true},
    {.name = "laguna",
     .sliding = {.present = SlidingIf::windowed,
                 .period = 4,
                 .dense_first = true,
                 .rule = SlidingRule::plain}},
    {.name = "maple", .sliding = {.present = SlidingIf::always}, .rotating = Rotating::sliding},
    {.name = "mellum olmo2",
     .sliding = {.present = SlidingIf::windowed,
                 .period = 4,
                 .base = SlidingBase::ignored,
                 .rule = SlidingRule::plain}},
    {.name = "mimo2", .sliding = of_base_10000(SlidingIf::always)},
    {.name = "minicpm3", .is_latent = true},
    {.name = "minimax-01", .recurrent = Recurrent::interval_8},
    {.name = "modern-bert",
     .sliding = {.present = SlidingIf::windowed,
                 .period = 3,
                 .dense_first = true,
                 .base = SlidingBase::ten_thousand,
                 .rule = SlidingRule::unscaled}},
    {.name = "paddleocr qwen2vl", .rope = RopeType::mrope},
    {.name = "plamo3", .sliding = of_base_10000(SlidingIf::windowed, 8)},
    {.name = "qwen35 qwen35moe qwen4exp",
     .rope = RopeType::imrope,
     .recurrent = Recurrent::interval_4},
    {.name = "qwen3next", .recurrent = Recurrent::interval_4},
    {.name = "qwen3tts qwen3vl qwen3vlmoe", .rope = RopeType::imrope},
    {.name = "smallthinker",
     .sliding = {.present = SlidingIf::windowed, .period = 4, .dense_first = true},
     .rotating = Rotating::not_first_of_four},
    {.name = "spark2_5", .sliding = {.present = SlidingIf::always}},
    {.name = "step35",
     .sliding = of_base_10000(SlidingIf::always),
     .factors_on_full_only = true,
     .half_on_full = true},
});

// Architectures without the rope operation, and refused ones.
constexpr std::array others = std::to_array<GgufArchitecture>({
    {.name = "arwkv7 mamba mamba2 rwkv6 rwkv6qwen2 rwkv7",
     .encoding = LayerEncoding::no_attention,
     .recurrent = Recurrent::all},
    {.name = "bert gpt2 starcoder", .encoding = LayerEncoding::learned},
    {.name = "bloom jais jina-bert-v2 mpt refact", .encoding = LayerEncoding::alibi},
    {.name = "clip",
     .refusal = "a tower for images or sound, whose positions mtmd computes; give the config.json "
                "of the model and part vision"},
    {.name = "dflash",
     .refusal = "a drafter whose rotation is that of the model that it drafts for"},
    {.name = "glm5-next jamba kimi-k3 kimi-linear nemotron_h nemotron_h_moe",
     .encoding = LayerEncoding::none},
    {.name = "gptj", .refusal = "llama.cpp knows the name, and has no code that runs it"},
    {.name = "t5 t5encoder", .encoding = LayerEncoding::t5_bias},
    {.name = "wavtokenizer-dec", .refusal = "an audio decoder, whose layers no spec describes"},
});

struct Group {
  RopeType rope;  // of rows that state none
  std::span<const GgufArchitecture> rows;
};

constexpr std::array groups = {Group{RopeType::norm, interleaved}, Group{RopeType::neox, halves},
                               Group{RopeType::none, others}};

}  // namespace

std::optional<GgufArchitecture> find_gguf_architecture(std::string_view name) {
  for (const Group& group : groups) {
    for (GgufArchitecture row : group.rows) {
      row.name = find_word(row.name, name);
      if (row.rope == RopeType::none) row.rope = group.rope;
      if (!row.name.empty()) return row;
    }
  }
  return {};
}

std::vector<std::string_view> gguf_architecture_names() {
  std::vector<std::string_view> names;
  for (const Group& group : groups) {
    for (const GgufArchitecture& row : group.rows)
      for_each_word(row.name, [&](std::string_view name) { names.push_back(name); });
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view name_of(RopeType type) {
  constexpr std::array<std::string_view, 7> names = {"none",   "norm", "neox", "mrope",
                                                     "imrope", "norm", "neox"};
  return names[static_cast<std::size_t>(type)];
}

}  // namespace rotary
