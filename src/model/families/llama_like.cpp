// SPDX-License-Identifier: Apache-2.0
// Families with Llama's attention: rotate_half. Scaling rules rotate the fraction
// partial_rotary_factor of a head; rope_type default rotates all of it. Bases: default_theta.
#include <array>

#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr Family llama_like(std::string_view model_type, double base, std::int64_t head_dim = 0) {
  return {.model_type = model_type, .base = {base}, .head = {.dim = head_dim}};
}

// softcap: default of attn_logit_softcapping. Gemma 3 has the key, but never uses it.
constexpr Family with_softcap(Family family, double softcap) {
  family.softcap = softcap;
  return family;
}

// The rotary class has no .to(dtype), so only the result is rounded.
constexpr Family in_float32(Family family) {
  family.rounding = Rounding::result;
  return family;
}

constexpr Family with_default_rope(Family family, std::string_view rope_parameters) {
  family.rope.otherwise = rope_parameters;
  family.note = "without rope_parameters, its class has its own scaling";
  return family;
}

constexpr std::string_view gpt_oss_rope =
    R"({"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
        "truncate": false, "original_max_position_embeddings": 4096})";

constexpr std::string_view apertus_rope =
    R"({"rope_type": "llama3", "rope_theta": 12000000.0, "factor": 8.0,
        "original_max_position_embeddings": 8192, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0})";

constexpr std::string_view cwm_rope =
    R"({"rope_type": "llama3", "rope_theta": 1000000.0, "factor": 16.0, "high_freq_factor": 4.0,
        "low_freq_factor": 1.0, "original_max_position_embeddings": 8192})";

constexpr std::string_view ministral3_rope =
    R"({"type": "yarn", "rope_theta": 1000000.0, "factor": 16.0,
        "original_max_position_embeddings": 16384, "beta_fast": 32.0, "beta_slow": 1.0,
        "mscale_all_dim": 1.0, "mscale": 1.0, "llama_4_scaling_beta": 0.1})";

constexpr std::array llama_like_rows = {
    llama_like("llama", 10000),
    // Transformers has configuration classes for these, and runs them with Llama's model class.
    llama_like("internlm3 iquestcoder", 10000, 128),
    llama_like("mistral ministral", 10000),
    llama_like("mixtral", 1e6),
    llama_like("qwen2 qwen2_moe", 10000),
    llama_like("qwen3", 10000, 128),
    llama_like("qwen3_moe", 10000),
    llama_like("gemma", 10000, 256),
    with_softcap(llama_like("gemma2 vaultgemma", 10000, 256), 50),
    llama_like("arcee", 10000),
    llama_like("bitnet", 500000),
    llama_like("chameleon", 10000),
    llama_like("csm", 500000),
    llama_like("diffllama doge dots1 esmc eurobert", 10000),
    llama_like("evolla", 500000),
    llama_like("falcon_h1 granite granitemoe granitemoeshared", 10000),
    llama_like("gte", 160000),
    llama_like("hy_v3", 11158840, 128),
    llama_like("hyperclovax jais2", 10000),
    llama_like("jina_embeddings_v3", 20000),
    llama_like("moshi olmoe", 10000),
    llama_like("seed_oss", 10000, 128),
    llama_like("starcoder2", 10000),
    in_float32(llama_like("olmo olmo2", 10000)),
    in_float32(llama_like("flex_olmo", 500000)),
    with_default_rope(llama_like("apertus apertus1p5_text", 12e6), apertus_rope),
    with_default_rope(llama_like("cwm", 1e6, 128), cwm_rope),
    with_default_rope(llama_like("gpt_oss", 150000, 64), gpt_oss_rope),
    llama_like("aria_text granite_docling_text granite4_vision_text deepseek_ocr2_text "
               "deepseek_ocr2_encoder",
               10000),
    llama_like("emu3_text_model", 1e6),
    Family{.model_type = "mllama_text_model",
           .base = {500000},
           .layers = {.rotating = RotaryLayers::but_cross_attention},
           .note = "layers of cross-attention do not rotate"},
    llama_like("muse_glimmer_assistant", 500000, 128),
    from("t5gemma", llama_like("t5_gemma_module", 10000, 256)),
    llama_like("unlimited_ocr_text voxtral_realtime_text", 10000, 128),
    // Stacks of num_layers_per_stack layers run several times; num_hidden_layers counts every run.
    Family{.model_type = "hrm_text",
           .base = {10000},
           .head = {.dim = 128},
           .keys = {.layers = "num_layers_per_stack"},
           .note = "two stacks of layers run in turn"},
    // molmo2/modeling_molmo2.py: a second table without scaling for layers that are not listed.
    Family{.model_type = "molmo2_text",
           .base = {10000},
           .head = {.dim = 128},
           .rope = {.scaled_layers_key = "rope_scaling_layers"},
           .layers = {.pattern = {.interval = 1}},
           .note = "only the layers of rope_scaling_layers are scaled"},
    Family{.model_type = "ministral3",
           .base = {10000},
           .head = {.dim = 128},
           .rope = {.otherwise = ministral3_rope},
           .layers = {.temperature = TemperatureKeys::llama_4_scaling_beta},
           .note = "queries grow with the position (llama_4_scaling_beta)"},
    Family{.model_type = "exaone", .base = {500000}, .keys = {.layers = "num_layers"}},
    // jetmoe/configuration_jetmoe.py: head_dim is kv_channels.
    Family{.model_type = "jetmoe",
           .base = {10000},
           .head = {.dim = 128},
           .keys = {.head_dim = "kv_channels"}},
    // Names of configuration_dbrx.py; rope_theta is in attn_config.
    Family{.model_type = "dbrx",
           .base = {.otherwise = 10000, .object = "attn_config"},
           .keys = {.hidden_size = "d_model",
                    .heads = "n_heads",
                    .layers = "n_layers",
                    .positions = "max_seq_len"}},
    // gpt_neox_japanese/configuration_gpt_neox_japanese.py: rotary_pct is 1 by default.
    Family{.model_type = "gpt_neox_japanese",
           .base = {.otherwise = 10000, .key = "rotary_emb_base"},
           .part = {.given_by = PartialRotary::fraction, .key = "rotary_pct"}},
    // nanochat/modeling_nanochat.py: rotate_half is cat(x2, -x1), so angles are negative.
    Family{.model_type = "nanochat",
           .base = {10000},
           .sense = Sense::negative,
           .note = "positive positions rotate by a negative angle"},
    Family{.model_type = "hunyuan_v1_dense hunyuan_v1_moe",
           .base = {10000},
           .rope = {.dialect = RopeDialect::hunyuan},
           .note = "rope_type dynamic with alpha is a fixed NTK-aware scaling"},
    Family{.model_type = "phimoe", .base = {1e6}, .rope = {.dialect = RopeDialect::phi3}},
    // The older names are from the model's own code, before Transformers had the family.
    Family{.model_type = "nomic_bert",
           .pairing_switch = {.key = "rotary_emb_interleaved", .if_true = Pairing::interleaved},
           .base = {.otherwise = 1000, .other_key = "rotary_emb_base"},
           .part = {.given_by = PartialRotary::fraction, .other_key = "rotary_emb_fraction"},
           .rope = {.dialect = RopeDialect::nomic},
           .keys = gpt_keys},
};

}  // namespace

std::span<const Family> llama_like_families() { return row_for_each_word<llama_like_rows>; }

}  // namespace rotary
