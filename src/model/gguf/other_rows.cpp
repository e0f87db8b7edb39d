// SPDX-License-Identifier: Apache-2.0
// Architectures without the rope operation, and those that are refused.
#include <array>

#include "model/gguf/architecture_rows.hpp"

namespace rotary {
namespace {

// Sorted by name. See architectures.hpp for the source.
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
    {.name = "wavtokenizer-dec",
     .refusal = "a decoder of sound without layers of its own kind for a spec"},
});

}  // namespace

std::span<const GgufArchitecture> other_gguf_architectures() { return others; }

}  // namespace rotary
