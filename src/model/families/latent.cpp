// SPDX-License-Identifier: Apache-2.0
// Multi-head latent attention: the rotated features are the last qk_rope_head_dim of a query head.
// mscale_all_dim increases the softmax scale (yarn_apply_mscale).
#include <array>

#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

// deepseek_v3/modeling_deepseek_v3.py: apply_rotary_pos_emb_interleave.
constexpr Family deepseek_v3(std::string_view model_type, std::optional<double> base,
                             std::int64_t nope_dim) {
  return {.model_type = model_type,
          .pairing = Pairing::interleaved_to_half,
          .base = {base},
          .head = {.latent = LatentAttention{.rope_dim = 64, .nope_dim = nope_dim}}};
}

// rope_interleave: false selects rotate_half.
constexpr Family with_switch(Family family) {
  family.pairing_switch.key = "rope_interleave";
  return family;
}

constexpr std::string_view mistral4_rope =
    R"({"type": "yarn", "rope_theta": 10000.0, "factor": 128.0,
        "original_max_position_embeddings": 8192, "beta_fast": 32.0, "beta_slow": 1.0,
        "mscale_all_dim": 1.0, "mscale": 1.0, "llama_4_scaling_beta": 0.1})";

constexpr Family mistral4() {
  Family family = with_switch(deepseek_v3("mistral4", 10000, 64));
  family.rope.otherwise = mistral4_rope;
  family.layers.temperature = TemperatureKeys::llama_4_scaling_beta;
  family.note = "queries grow with the position (llama_4_scaling_beta)";
  return family;
}

constexpr Family deepseek_v32() {
  Family family = deepseek_v3("deepseek_v32", 10000, 128);
  family.note = "its indexer rotates its first 64 features with half pairing, which is not shown";
  return family;
}

constexpr Family longcat() {
  Family family = deepseek_v3("longcat_flash", 1e7, 128);
  family.keys.layers = "num_layers";
  return family;
}

constexpr std::string_view mistral_large4_rope =
    R"({"rope_type": "yarn", "rope_theta": 10000.0, "factor": 2048.0,
        "original_max_position_embeddings": 512, "beta_fast": 32.0, "beta_slow": 1.0,
        "attention_factor": 1.0})";

constexpr Family mistral_large4() {
  Family family = deepseek_v3("mistral_large4_text", 10000, 64);
  family.rope.otherwise = mistral_large4_rope;
  family.layers.rotating = RotaryLayers::no_rope_layers;
  family.note = "every fourth layer does not rotate; frequencies have a learned factor";
  family.warning =
      "the weights multiply each frequency by exp(rotary_emb.alpha), and queries by a learned "
      "function of the position: neither is in the config, so neither is in these numbers";
  return family;
}

constexpr Family bailing_hybrid() {
  Family family = deepseek_v3("bailing_hybrid", 6e6, 128);
  family.layers.pattern = {
      .interval_key = "layer_group_size", .interval = 6, .other_type = "linear_attention"};
  family.keys.positions = "model_max_length";
  family.note = "five layers of six have no rotary attention";
  return family;
}

// hy_v4/modeling_hy_v4.py: rotate_half.
constexpr Family hy_v4() {
  Family family = deepseek_v3("hy_v4", 10000, 192);
  family.pairing = Pairing::half;
  return family;
}

// hy_v4_vl/modeling_hy_v4_vl.py: only q and k are float32.
constexpr Family hy_v4_vl() {
  Family family = deepseek_v3("hy_v4_vl_text", 10000, 192);
  family.pairing = Pairing::interleaved;
  family.rounding = Rounding::table;
  family.axes = {.given_by = AxisShares::sections,
                 .otherwise = {12, 10, 10},
                 .arrangement = AxisArrangement::interleaved};
  return family;
}

// sarvam_mla/configuration_sarvam_mla.py: its model is DeepSeek-V3's.
constexpr Family sarvam_mla() {
  Family family = with_switch(deepseek_v3("sarvam_mla", 10000, 128));
  family.rope.dialect = RopeDialect::sarvam;
  return family;
}

constexpr std::string_view dots3_note_type(std::int64_t layer, std::int64_t) {
  return layer < 2 || layer % 4 == 1 ? "indexed_attention" : "sliding_attention";
}

constexpr Family dots3_note() {
  Family family = deepseek_v3("dots3_note_text", {}, 128);
  family.head.latent->sliding_nope_dim = 192;
  family.rope.two_bases = TwoBases{.full_type = "indexed_attention",
                                   .full_key = "rope_theta",
                                   .full = 8e7,
                                   .sliding_key = "swa_rope_theta",
                                   .sliding = 50000,
                                   .scaled = ScaledLayers::all,
                                   .flat = FlatParameters::of_all_layers};
  family.layers.pattern = {.type_of = dots3_note_type, .alias_of_full = "indexed_attention"};
  family.note = "sliding layers have their own base and number of unrotated features";
  return family;
}

constexpr std::array latent_rows = {
    // deepseek_v2/modeling_deepseek_v2.py: complex numbers in float32.
    Family{.model_type = "deepseek_v2",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .rounding = Rounding::result,
           .head = {.latent = LatentAttention{}}},
    with_switch(deepseek_v3("deepseek_v3", 10000, 128)),
    deepseek_v32(),
    // Uses DeepSeek-V3's class; Transformers has no configuration file for kimi_k2.
    from("deepseek_v3", with_switch(deepseek_v3("kimi_k2", {}, 128))),
    with_switch(deepseek_v3("glm4_moe_lite", 10000, 192)),
    deepseek_v3("glm_moe_dsa", 10000, 192),
    longcat(),
    with_switch(deepseek_v3("youtu axk1", 10000, 128)),
    deepseek_v3("axk2", 10000, 128),
    mistral4(),
    mistral_large4(),
    bailing_hybrid(),
    hy_v4(),
    hy_v4_vl(),
    sarvam_mla(),
    dots3_note(),
    Family{.model_type = "minicpm3",
           .base = {10000},
           .head = {.latent = LatentAttention{.rope_dim = 32, .nope_dim = 64}}},
};

}  // namespace

std::span<const Family> latent_families() { return row_for_each_word<latent_rows>; }

const Family& deepseek_without_latent_attention() {
  static constexpr Family family = {.model_type = "deepseek_v2", .base = {10000}};
  return family;
}

}  // namespace rotary
