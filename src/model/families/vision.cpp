// SPDX-License-Identifier: Apache-2.0
// Towers that read images, each with a config of its own within that of its model. The coordinates
// of a patch are (row, column), or (time, row, column), whatever the class itself takes, and each
// axis has exponents of its own. Unless a row says otherwise, pairs of rows come first, then those
// of columns, as in recomposition_frequencies of the modeling file of its folder. Below: towers
// that add learned vectors, which no key but the sizes matters to.
#include <array>

#include "model/families.hpp"

namespace rotary {
namespace {

constexpr ConfigKeys vit_keys = {.heads = "num_heads", .layers = "depth"};
// hidden_size is what the language model gets.
constexpr ConfigKeys embed_keys = {.hidden_size = "embed_dim",
                                   .usual_size = UsualNames::another,
                                   .heads = "num_heads",
                                   .layers = "depth"};
// The names in the files of Moonshot, which the class of Transformers renames.
constexpr ConfigKeys moonvit_keys = {.hidden_size = "vt_hidden_size",
                                     .heads = "vt_num_attention_heads",
                                     .layers = "vt_num_hidden_layers"};
// A head of Kimi K3 is not hidden_size / heads.
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
// Coordinates of patches are within [-1, 1]: their centres.
constexpr AxesForm of_centres = {
    .given_by = AxisShares::equal, .exponents = AxisExponents::own, .scale = 6.283185307179586};

constexpr Family tower(std::string_view model_type, std::string_view source,
                       const ConfigKeys& keys = {}) {
  return {.model_type = model_type,
          .base = {10000},
          .rounding = Rounding::result,
          .axes = rows_then_columns,
          .keys = keys,
          .note = "rows, then columns",
          .source = source};
}

constexpr Family rounded(Family family, Rounding rounding) {
  family.rounding = rounding;
  return family;
}

constexpr Family with_axes_of(Family family, const AxesForm& axes, std::string_view note) {
  family.axes = axes;
  family.note = note;
  return family;
}

// sam2_video/modeling_sam2_video.py: the attention to memories, which alone rotates.
constexpr Family memory_attention(std::string_view model_type) {
  Family family = tower(model_type, model_type, memory_keys);
  family.pairing = Pairing::interleaved;
  family.base.other_key = "memory_attention_rope_theta";
  family.head.divided_by = "memory_attention_downsample_rate";
  family.axes = columns_then_rows;
  family.note = "its attention to memories: columns, then rows";
  return family;
}

constexpr Family dinov3(std::string_view model_type, std::string_view source) {
  Family family = tower(model_type, source);
  family.base = {100};
  family.rounding = Rounding::every_step;
  family.axes = of_centres;
  family.note = "centres of patches in [-1, 1]; frequencies times 2 pi";
  return family;
}

constexpr Family with_base(Family family, double base) {
  family.base = {base};
  return family;
}

constexpr Family pixtral() {
  Family family = rounded(tower("pixtral", "pixtral"), Rounding::every_step);
  family.axes.exponents = AxisExponents::in_turn;
  family.note = "rows have the even exponents of a whole head, columns the odd ones";
  return family;
}

constexpr Family muse(std::string_view model_type, std::string_view source) {
  return with_axes_of(rounded(tower(model_type, source), Rounding::table), columns_then_rows,
                      "columns, then rows, both counted from 1");
}

constexpr Family kimi() {
  Family family = tower("kimi_k25_vision", "kimi_k25", moonvit_keys);
  family.axes.arrangement = AxisArrangement::interleaved;
  family.axes.order = {1, 0, 2, 3};
  family.note = "columns and rows in turn";
  return family;
}

constexpr Family interleaved_tower(Family family) {
  family.pairing = Pairing::interleaved;
  return family;
}

// Rope2DPosEmb of the authors' files, also in vLLM's moonvit.py: columns and rows in turn, of
// neighbours.
constexpr Family moonvit(std::string_view model_type, const ConfigKeys& keys = {}) {
  Family family = interleaved_tower(tower(model_type, "-", keys));
  family.axes.arrangement = AxisArrangement::interleaved;
  family.axes.order = {1, 0, 2, 3};
  family.note = "columns and rows in turn";
  return family;
}

// precompute_freqs_cis_2d of vLLM's pixtral.py: the tower in Mistral's own format, whose files name
// no model_type (parts.cpp).
constexpr Family mistral_encoder() {
  Family family = interleaved_tower(tower("mistral_vision_encoder", "-"));
  family.axes.exponents = AxisExponents::in_turn;
  family.note = "`vision_encoder` of a params.json: rows have the even exponents of a whole head";
  return family;
}

constexpr Family gemma4_vision() {
  Family family = rounded(tower("gemma4_vision", "gemma4"), Rounding::every_step);
  family.base = {100};
  family.head.dim = 64;
  family.axes = columns_then_rows;
  family.axes.blocks = 2;
  family.note = "each half of a head is paired within itself: columns, then rows";
  return family;
}

constexpr Family minimax_m3() {
  Family family = rounded(tower("minimax_m3_vl_vision", "minimax_m3_vl"), Rounding::every_step);
  family.part.given_by = PartialRotary::whole_axes;
  family.axes.count = 3;
  family.note = "time, rows, columns; what does not divide by 6 passes";
  return family;
}

constexpr Family lfm3_vision() {
  Family family = with_base(tower("lfm3_vl_vision", "lfm3_vl"), 1e6);
  family.layers.pattern.type_of = [](std::int64_t layer, std::int64_t) -> std::string_view {
    return layer % 2 == 0 && layer > 0 ? "full_attention" : "conv";
  };
  family.note = "rows, then columns; some layers are convolutions";
  return family;
}

constexpr Family learned_tower(std::string_view model_type, std::string_view source,
                               const ConfigKeys& keys = {}) {
  return {
      .model_type = model_type, .encoding = LayerEncoding::learned, .keys = keys, .source = source};
}

constexpr std::array vision_rows = {
    tower("qwen2_vl_vision", "qwen2_vl", embed_keys),
    tower("qwen2_5_vl_vision", "qwen2_5_vl", vit_keys),
    tower("qwen2_5_omni_vision_encoder", "qwen2_5_omni", vit_keys),
    tower("qwen3_vl_vision", "qwen3_vl", vit_keys),
    tower("qwen3_vl_moe_vision", "qwen3_vl_moe", vit_keys),
    tower("qwen3_omni_moe_vision_encoder", "qwen3_omni_moe", vit_keys),
    tower("qwen3_5_vision", "qwen3_5", vit_keys),
    tower("qwen3_5_moe_vision", "qwen3_5_moe", vit_keys),
    tower("qwen4_exp_vision", "qwen4_exp", vit_keys),
    tower("glm4v_vision", "glm4v", vit_keys),
    tower("glm4v_moe_vision", "glm4v_moe", vit_keys),
    tower("glm5_next_vision", "glm5_next", vit_keys),
    tower("glm_ocr_vision", "glm_ocr", vit_keys),
    tower("ernie4_5_vl_moe_vision", "ernie4_5_vl_moe", vit_keys),
    tower("exaone4_5_vision", "exaone4_5", vit_keys),
    tower("cohere_compass_vision", "cohere_compass", vit_keys),
    tower("paddleocr_vl_vision", "paddleocr_vl"),
    tower("mlcd_vision_model", "mlcd"),
    tower("video_llama_3_vision", "video_llama_3"),
    tower("dots3_note_vision_encoder", "dots3_note"),
    lfm3_vision(),
    muse("muse_spark_vision", "muse_spark"),
    muse("muse_glimmer_vision", "muse_glimmer"),
    pixtral(),
    mistral_encoder(),
    kimi(),
    moonvit("moonvit"),
    moonvit("kimi_k3_vision", kimi_k3_keys),
    with_axes_of(tower("step3p5_vision", "step3p7"), columns_then_rows, "columns, then rows"),
    interleaved_tower(with_axes_of(tower("inkling2_vision", "inkling2"), columns_then_rows,
                                   "columns, then rows")),
    interleaved_tower(
        with_axes_of(tower("sam3_vit_model", "sam3"), columns_then_rows, "columns, then rows")),
    memory_attention("sam2_video"),
    memory_attention("sam3_tracker_video"),
    memory_attention("edgetam_video"),
    gemma4_vision(),
    minimax_m3(),
    // llama4/modeling_llama4.py: _compute_freqs_ci.
    interleaved_tower(
        with_axes_of(tower("llama4_vision_model", "llama4"), columns_then_rows,
                     "columns, then rows, both counted from 1; the class token is at (0, 0)")),
    // dinov3_vit/modeling_dinov3_vit.py, DINOv3ViTRopePositionEmbedding; tokens before the patches
    // do not rotate.
    dinov3("dinov3_vit", "dinov3_vit"),
    dinov3("eomt_dinov3", "eomt_dinov3"),
    dinov3("sapiens2", "sapiens2"),
    learned_tower("blip_2_vision_model", "blip_2"),
    learned_tower("chinese_clip_vision_model", "chinese_clip"),
    learned_tower("cosmos3_edge_vision", "cosmos3_edge"),
    learned_tower("got_ocr2_vision", "got_ocr2"),
    learned_tower("glm_image_vision", "glm_image", vit_keys),
    learned_tower("hunyuan_vl_vision", "hunyuan_vl"),
    learned_tower("idefics2_vision", "idefics2"),
    learned_tower("idefics3_vision", "idefics3"),
    learned_tower("instructblip_vision_model", "instructblip"),
    learned_tower("intern_vit_6b", "-"),
    learned_tower("internvl_vision", "internvl"),
    learned_tower("janus_vision_model", "janus"),
    learned_tower("kosmos_2_vision_model", "kosmos2"),
    learned_tower("minicpmv4_6_vision", "minicpmv4_6"),
    learned_tower("minicpmv4_7_vision", "minicpmv4_7"),
    learned_tower("mllama_vision_model", "mllama"),
    learned_tower("molmo2_vision", "molmo2"),
    learned_tower("ovis2_vision", "ovis2"),
    learned_tower("phi4_multimodal_vision", "phi4_multimodal"),
    learned_tower("qianfan_ocr_vision", "qianfan_ocr"),
    learned_tower("smolvlm_vision", "smolvlm"),
};

}  // namespace

std::span<const Family> vision_families() { return vision_rows; }

}  // namespace rotary
