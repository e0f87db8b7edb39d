// SPDX-License-Identifier: Apache-2.0
// Towers that read images. The coordinates of a patch are (row, column) or (time, row, column), and
// each axis has its own exponents. Unless an entry says otherwise, the pairs for rows come before
// those for columns, as in recomposition_frequencies of the modeling file. The last entries add
// learned vectors, for which only sizes matter.
#include <array>

#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr ConfigKeys vit_keys = {.heads = "num_heads", .layers = "depth"};
// In these configs, hidden_size is the width of the language model.
constexpr ConfigKeys embed_keys = {.hidden_size = "embed_dim",
                                   .usual_size = UsualNames::another,
                                   .heads = "num_heads",
                                   .layers = "depth"};
// The names in Moonshot's own files.
constexpr ConfigKeys moonvit_keys = {.hidden_size = "vt_hidden_size",
                                     .heads = "vt_num_attention_heads",
                                     .layers = "vt_num_hidden_layers"};
// The width of a head of Kimi K3 is not hidden_size / heads.
constexpr ConfigKeys kimi_k3_keys = {.hidden_size = "qkv_hidden_size",
                                     .usual_size = UsualNames::another,
                                     .heads = "vt_num_attention_heads",
                                     .layers = "vt_num_hidden_layers"};
constexpr ConfigKeys memory_keys = {.hidden_size = "memory_attention_hidden_size",
                                    .heads = "memory_attention_num_attention_heads",
                                    .layers = "memory_attention_num_layers"};

constexpr AxesForm rows_then_columns = {.given_by = AxisShares::equal,
                                        .exponents = AxisExponents::own};
constexpr AxesForm columns_then_rows = {
    .given_by = AxisShares::equal, .exponents = AxisExponents::own, .order = {1, 0, 2, 3}};
// Coordinates are the centres of patches, within [-1, 1].
constexpr AxesForm of_centres = {
    .given_by = AxisShares::equal, .exponents = AxisExponents::own, .scale = 6.283185307179586};

constexpr Family tower(std::string_view model_types, const ConfigKeys& keys = {}) {
  return {.model_type = model_types,
          .base = {10000},
          .rounding = Rounding::result,
          .axes = rows_then_columns,
          .keys = keys,
          .note = "rows, then columns"};
}

constexpr Family every_step(Family family) {
  family.rounding = Rounding::every_step;
  return family;
}

constexpr Family by_columns(Family family, std::string_view note = "columns, then rows") {
  family.axes = columns_then_rows;
  family.note = note;
  return family;
}

constexpr Family interleaved_tower(Family family) {
  family.pairing = Pairing::interleaved;
  return family;
}

// sam2_video/modeling_sam2_video.py: only the attention to memories rotates.
constexpr Family memory_attention() {
  Family family = interleaved_tower(
      by_columns(tower("sam2_video sam3_tracker_video edgetam_video", memory_keys),
                 "its attention to memories: columns, then rows"));
  family.base.other_key = "memory_attention_rope_theta";
  family.head.divided_by = "memory_attention_downsample_rate";
  return family;
}

// dinov3_vit/modeling_dinov3_vit.py, DINOv3ViTRopePositionEmbedding; only patches rotate.
constexpr Family dinov3() {
  Family family = every_step(tower("dinov3_vit eomt_dinov3 sapiens2"));
  family.base = {100};
  family.axes = of_centres;
  family.note = "centres of patches in [-1, 1]; frequencies times 2 pi";
  return family;
}

constexpr Family in_turn(Family family, std::string_view note) {
  family.axes.exponents = AxisExponents::in_turn;
  family.note = note;
  return family;
}

constexpr Family muse() {
  Family family = by_columns(tower("muse_spark_vision muse_glimmer_vision"),
                             "columns, then rows, both counted from 1");
  family.rounding = Rounding::table;
  return family;
}

constexpr Family kimi(std::string_view model_type, const ConfigKeys& keys) {
  Family family = by_columns(tower(model_type, keys), "columns and rows in turn");
  family.axes.arrangement = AxisArrangement::interleaved;
  return family;
}

// Rope2DPosEmb of the authors' files and of vLLM's moonvit.py. Pairs are neighbours, and belong
// alternately to the column and to the row.
constexpr Family moonvit(std::string_view model_type, const ConfigKeys& keys = {}) {
  return from("-", interleaved_tower(kimi(model_type, keys)));
}

constexpr Family gemma4_vision() {
  Family family = every_step(by_columns(
      tower("gemma4_vision"), "each half of a head is paired within itself: columns, then rows"));
  family.base = {100};
  family.head.dim = 64;
  family.axes.blocks = 2;
  return family;
}

constexpr Family minimax_m3() {
  Family family = every_step(tower("minimax_m3_vl_vision"));
  family.part.given_by = PartialRotary::whole_axes;
  family.axes.count = 3;
  family.note = "time, rows, columns; features beyond a multiple of 6 do not rotate";
  return family;
}

constexpr Family lfm3_vision() {
  Family family = tower("lfm3_vl_vision");
  family.base = {1e6};
  family.layers.pattern.type_of = [](std::int64_t layer, std::int64_t) -> std::string_view {
    return layer % 2 == 0 && layer > 0 ? "full_attention" : "conv";
  };
  family.note = "rows, then columns; some layers are convolutions";
  return family;
}

constexpr Family learned_tower(std::string_view model_types, const ConfigKeys& keys = {}) {
  return {.model_type = model_types, .encoding = LayerEncoding::learned, .keys = keys};
}

constexpr std::array vision_rows = {
    tower("qwen2_vl_vision", embed_keys),
    tower("qwen2_5_vl_vision qwen2_5_omni_vision_encoder qwen3_vl_vision qwen3_vl_moe_vision "
          "qwen3_omni_moe_vision_encoder qwen3_5_vision qwen3_5_moe_vision qwen4_exp_vision "
          "glm4v_vision glm4v_moe_vision glm5_next_vision glm_ocr_vision ernie4_5_vl_moe_vision "
          "exaone4_5_vision cohere_compass_vision",
          vit_keys),
    tower("paddleocr_vl_vision mlcd_vision_model video_llama_3_vision dots3_note_vision_encoder"),
    lfm3_vision(),
    muse(),
    in_turn(every_step(tower("pixtral")),
            "rows have the even exponents of a whole head, columns the odd ones"),
    // The tower in Mistral's own format, without a model_type (parts.cpp): precompute_freqs_cis_2d
    // of vLLM's pixtral.py.
    from("-",
         interleaved_tower(in_turn(
             tower("mistral_vision_encoder"),
             "`vision_encoder` of a params.json: rows have the even exponents of a whole head"))),
    kimi("kimi_k25_vision", moonvit_keys),
    moonvit("moonvit"),
    moonvit("kimi_k3_vision", kimi_k3_keys),
    from("step3p7", by_columns(tower("step3p5_vision"))),
    interleaved_tower(by_columns(tower("inkling2_vision"))),
    from("sam3", interleaved_tower(by_columns(tower("sam3_vit_model")))),
    memory_attention(),
    gemma4_vision(),
    minimax_m3(),
    // llama4/modeling_llama4.py: _compute_freqs_ci.
    interleaved_tower(
        by_columns(tower("llama4_vision_model"),
                   "columns, then rows, both counted from 1; the class token is at (0, 0)")),
    dinov3(),
    learned_tower("blip_2_vision_model chinese_clip_vision_model cosmos3_edge_vision "
                  "got_ocr2_vision"),
    learned_tower("glm_image_vision", vit_keys),
    learned_tower("hunyuan_vl_vision idefics2_vision idefics3_vision instructblip_vision_model"),
    from("-", learned_tower("intern_vit_6b")),
    learned_tower("internvl_vision janus_vision_model kosmos_2_vision_model minicpmv4_6_vision "
                  "minicpmv4_7_vision mllama_vision_model molmo2_vision ovis2_vision "
                  "phi4_multimodal_vision qianfan_ocr_vision smolvlm_vision"),
};

}  // namespace

std::span<const Family> vision_families() { return row_for_each_word<vision_rows>; }

}  // namespace rotary
