// SPDX-License-Identifier: Apache-2.0
// Families whose modeling code comes with the model. Their rows state what vLLM and llama.cpp agree
// on. A value without a default in these programs must be in the config.
#include <array>

#include "model/bias_readers.hpp"
#include "model/encoding_choice.hpp"
#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr std::string_view remote = "-";

constexpr std::array remote_code_rows = {
    // olmo/model.py of OLMo 1, which LLaDA's own code repeats.
    Family{.model_type = "hf_olmo llada",
           .choice = {.read = olmo_encoding},
           .base = {10000},
           .keys = {.hidden_size = "d_model",
                    .heads = "n_heads",
                    .layers = "n_layers",
                    .positions = "max_sequence_length"},
           .source = remote},
    Family{.model_type = "internlm internlm2 deepseek orion aquila minicpm",
           .base = {10000},
           .source = remote},
    // Ling 2.0 has this model_type and rotates a part of the head.
    Family{.model_type = "bailing_moe",
           .part = {.given_by = PartialRotary::fraction, .rotary_dim_key = RotaryDimKey::read},
           .source = remote},
    Family{.model_type = "molmo", .source = remote},
    // vLLM's nemotron_nas.py: Llama without the attention of some layers.
    Family{.model_type = "nemotron-nas",
           .base = {10000},
           .layers = {.pattern = {.interval = must_be_listed}},
           .note = "block_configs say which layers have attention",
           .source = remote},
    // MiniMax-Text-01 and M1: rotary_dim features of a head rotate.
    Family{.model_type = "minimax_m1 minimax_text_01",
           .part = {.given_by = PartialRotary::dimension},
           .layers = {.pattern = {.interval = must_be_listed}},
           .note = "some layers are linear attention; rotary_dim must be given",
           .source = remote},
    Family{.model_type = "hunyuan",
           .base = {10000},
           .rope = {.dialect = RopeDialect::hunyuan},
           .keys = {.head_dim = "attention_head_dim"},
           .note = "rope_type dynamic with alpha is a fixed NTK-aware scaling",
           .source = remote},
    // Ming's video_rope has default frequencies and the axes of Ernie 4.5 (modeling_bailing_moe_v2
    // in inclusionAI/Ming, apply_3d_rotary_pos_emb).
    Family{.model_type = "bailing_moe_v2",
           .part = {.given_by = PartialRotary::fraction},
           .rope = {.dialect = RopeDialect::ming},
           .axes = {.given_by = AxisShares::sections,
                    .arrangement = AxisArrangement::interleaved_then_last,
                    .order = {1, 2, 0}},
           .source = remote},
    // Baichuan 7B rotates, 13B has ALiBi; no key says which.
    Family{.model_type = "baichuan",
           .choice = {.read = baichuan_encoding},
           .base = {10000},
           .read_bias = baichuan_bias,
           .note = "7B rotates, 13B has linear biases; told apart by hidden_size",
           .source = remote},
    // Qwen 1: a head has kv_channels features; seq_length is the trained context.
    Family{.model_type = "qwen",
           .base = {.otherwise = 10000, .key = "rotary_emb_base"},
           .part = {.given_by = PartialRotary::fraction, .key = "rotary_pct"},
           .rope = {.dialect = RopeDialect::qwen},
           .layers = {.temperature = TemperatureKeys::use_logn_attn},
           .keys = {.hidden_size = "n_embd",
                    .heads = "n_head",
                    .layers = "n_layer",
                    .positions = "seq_length",
                    .head_dim = "kv_channels"},
           .note = "queries grow with the logarithm of the position (use_logn_attn), the base with "
                   "the prompt "
                   "(use_dynamic_ntk)",
           .source = remote},
    // ChatGLM 2, 3, GLM-4-9B of 2024: half of kv_channels rotate; base 10000 * rope_ratio.
    Family{.model_type = "chatglm",
           .choice = {.read = chatglm_encoding},
           .pairing = Pairing::interleaved,
           .base = {.otherwise = 10000, .ratio_key = "rope_ratio"},
           .part = {.given_by = PartialRotary::fraction, .fraction = 0.5},
           .keys = {.layers = "num_layers", .positions = "seq_length", .head_dim = "kv_channels"},
           .note = "the base is 10000 rope_ratio",
           .source = remote},
    Family{.model_type = "openelm",
           .base = {.otherwise = 10000, .key = "rope_freq_constant"},
           .keys = {.hidden_size = "model_dim",
                    .layers = "num_transformer_layers",
                    .positions = "max_context_length"},
           .source = remote},
    // Phi 1.5 and 2 before Transformers had them, with a fixed base.
    Family{.model_type = "phi-msft",
           .base = {10000},
           .part = {.given_by = PartialRotary::dimension},
           .rope = {.is_read = false},
           .keys = gpt_keys,
           .note = "rotary_dim must be given",
           .source = remote},
    Family{.model_type = "phi3_v",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction},
           .rope = {.dialect = RopeDialect::phi3},
           .note = "rope_type su and yarn are LongRoPE",
           .source = remote},
    // vLLM's phi3_small.py divides positions by rope_position_scale, which must be 1 here.
    Family{.model_type = "phi3small",
           .base = {.otherwise = 1e6, .key = "rope_embedding_base"},
           .rope = {.dialect = RopeDialect::phi3},
           .source = remote},
    Family{.model_type = "neobert",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .keys = {.positions = "max_length"},
           .source = remote},
};

}  // namespace

std::span<const Family> remote_code_families() { return row_for_each_word<remote_code_rows>; }

}  // namespace rotary
