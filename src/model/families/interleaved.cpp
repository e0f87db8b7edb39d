// SPDX-License-Identifier: Apache-2.0
// Families that rotate neighbours: rotate_every_two, complex numbers, or rotate_half of even and
// odd features.
#include <array>

#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr Family blt(std::string_view model_type, double base) {
  return {
      .model_type = model_type, .pairing = Pairing::interleaved, .base = {base}, .source = "blt"};
}

constexpr Family ernie(std::string_view model_type, std::int64_t head_dim) {
  return {.model_type = model_type,
          .pairing = Pairing::interleaved,
          .base = {500000},
          .rounding = Rounding::result,
          .head = {.dim = head_dim}};
}

constexpr std::string_view privacy_filter_rope =
    R"({"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                   "truncate": false, "original_max_position_embeddings": 4096})";

constexpr std::array interleaved_rows = {
    // gptj/modeling_gptj.py and codegen's: create_sinusoidal_positions fixes the base in code.
    Family{.model_type = "gptj codegen",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .part = {.given_by = PartialRotary::dimension, .rotary_dim = 64},
           .head = {.reads_dim = false},
           .rope = {.is_read = false},
           .keys = gpt_keys},
    Family{.model_type = "glm glm4",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction, .fraction = 0.5},
           .head = {.dim = 128}},
    ernie("ernie4_5", 128),
    ernie("ernie4_5_moe", 0),
    Family{.model_type = "helium",
           .pairing = Pairing::interleaved,
           .base = {100000},
           .head = {.dim = 128}},
    // cohere/modeling_cohere.py: only q and k are float32.
    Family{.model_type = "cohere",
           .pairing = Pairing::interleaved,
           .base = {500000},
           .rounding = Rounding::table},
    blt("blt_global_transformer blt_local_encoder blt_local_decoder", 500000),
    blt("blt_patcher", 10000),
    Family{.model_type = "openai_privacy_filter",
           .pairing = Pairing::interleaved,
           .base = {150000},
           .head = {.dim = 64},
           .rope = {.otherwise = privacy_filter_rope},
           .note = "without rope_parameters, its class has its own scaling"},
    Family{.model_type = "moonshine",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction, .fraction = 0.9},
           .keys = {.heads = "decoder_num_attention_heads", .layers = "decoder_num_hidden_layers"},
           .note = "the decoder's layers; the encoder's rotate in the same way"},
    // roformer/modeling_roformer.py: cos and sin are computed in double; the base is fixed in code.
    Family{.model_type = "roformer",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .rounding = Rounding::double_angle,
           .rope = {.is_read = false}},
};

}  // namespace

std::span<const Family> interleaved_families() { return row_for_each_word<interleaved_rows>; }

}  // namespace rotary
