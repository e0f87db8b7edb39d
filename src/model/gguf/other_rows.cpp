// SPDX-License-Identifier: Apache-2.0
// Architectures that the rope operation is no part of, and those that are refused.
#include <array>

#include "model/gguf/architecture_rows.hpp"

namespace rotary {
namespace {

// Sorted by name. See architectures.hpp for the source.
constexpr std::array others = std::to_array<GgufArchitecture>({
    {.name = "arwkv7", .encoding = LayerEncoding::no_attention, .recurrent = Recurrent::all},
    {.name = "bert", .encoding = LayerEncoding::learned},
    {.name = "bloom", .encoding = LayerEncoding::alibi},
    {.name = "clip",
     .refusal = "a tower for images or sound, whose positions mtmd computes; give the config.json "
                "of the model and part vision"},
    {.name = "dflash",
     .refusal = "a drafter whose rotation is that of the model that it drafts for"},
    {.name = "glm5-next", .encoding = LayerEncoding::none},
    {.name = "gpt2", .encoding = LayerEncoding::learned},
    {.name = "gptj", .refusal = "llama.cpp knows the name, and has no code that runs it"},
    {.name = "jais", .encoding = LayerEncoding::alibi},
    {.name = "jamba", .encoding = LayerEncoding::none},
    {.name = "jina-bert-v2", .encoding = LayerEncoding::alibi},
    {.name = "kimi-k3", .encoding = LayerEncoding::none},
    {.name = "kimi-linear", .encoding = LayerEncoding::none},
    {.name = "mamba", .encoding = LayerEncoding::no_attention, .recurrent = Recurrent::all},
    {.name = "mamba2", .encoding = LayerEncoding::no_attention, .recurrent = Recurrent::all},
    {.name = "mpt", .encoding = LayerEncoding::alibi},
    {.name = "nemotron_h", .encoding = LayerEncoding::none},
    {.name = "nemotron_h_moe", .encoding = LayerEncoding::none},
    {.name = "refact", .encoding = LayerEncoding::alibi},
    {.name = "rwkv6", .encoding = LayerEncoding::no_attention, .recurrent = Recurrent::all},
    {.name = "rwkv6qwen2", .encoding = LayerEncoding::no_attention, .recurrent = Recurrent::all},
    {.name = "rwkv7", .encoding = LayerEncoding::no_attention, .recurrent = Recurrent::all},
    {.name = "starcoder", .encoding = LayerEncoding::learned},
    {.name = "t5", .encoding = LayerEncoding::t5_bias},
    {.name = "t5encoder", .encoding = LayerEncoding::t5_bias},
    {.name = "wavtokenizer-dec",
     .refusal = "a decoder of sound without layers of its own kind for a spec"},
});

}  // namespace

std::span<const GgufArchitecture> other_gguf_architectures() { return others; }

}  // namespace rotary
