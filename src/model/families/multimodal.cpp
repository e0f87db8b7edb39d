// SPDX-License-Identifier: Apache-2.0
// The language models of vision models: one table of frequencies, whose pairs follow the axes of an
// image's positions as mrope_section says. Text has the same position on every axis, so these rows
// describe text exactly.
#include <array>

#include "model/families.hpp"

namespace rotary {
namespace {

constexpr Family whole_head(std::string_view model_type, double base, std::int64_t head_dim,
                            std::string_view source) {
  return {.model_type = model_type,
          .base = {base},
          .head = {.dim = head_dim},
          .rope = {.sections = SectionKeys::accepted},
          .source = source};
}

constexpr Family qwen3_5(std::string_view model_type, std::string_view source) {
  return {.model_type = model_type,
          .base = {10000},
          .part = {.given_by = PartialRotary::fraction, .fraction = 0.25},
          .head = {.dim = 256},
          .rope = {.sections = SectionKeys::accepted},
          .layers = {.pattern = {.interval_key = "full_attention_interval",
                                 .interval = 4,
                                 .other_type = "linear_attention"}},
          .note = "three layers of four have no attention",
          .source = source};
}

constexpr Family glm4v(std::string_view model_type, Pairing pairing, double fraction,
                       std::string_view source) {
  return {.model_type = model_type,
          .pairing = pairing,
          .base = {10000},
          .part = {.given_by = PartialRotary::fraction, .fraction = fraction},
          .rope = {.sections = SectionKeys::accepted},
          .source = source};
}

constexpr std::array multimodal_rows = {
    whole_head("qwen2_vl_text", 1e6, 0, "qwen2_vl"),
    whole_head("qwen2_5_vl_text", 1e6, 0, "qwen2_5_vl"),
    whole_head("qwen2_5_omni_text", 1e6, 0, "qwen2_5_omni"),
    whole_head("qwen3_vl_text", 500000, 128, "qwen3_vl"),
    whole_head("qwen3_vl_moe_text", 500000, 0, "qwen3_vl_moe"),
    whole_head("qwen3_omni_moe_text", 1e6, 0, "qwen3_omni_moe"),
    whole_head("paddleocr_vl_text", 500000, 128, "paddleocr_vl"),
    whole_head("cosmos3_edge_text", 1e8, 128, "cosmos3_edge"),
    // qwen4_exp/configuration_qwen4_exp.py calls full_attention indexed_attention.
    Family{.model_type = "qwen4_exp_text",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction},
           .head = {.dim = 256},
           .rope = {.sections = SectionKeys::accepted},
           .layers = {.pattern = {.interval_key = "full_attention_interval",
                                  .interval = 4,
                                  .full_type = "indexed_attention",
                                  .other_type = "linear_attention",
                                  .alias_of_full = "indexed_attention"}},
           .note = "three layers of four have no attention",
           .source = "qwen4_exp"},
    // cohere_compass/modeling_cohere_compass.py: null in rope_parameters means no rotation.
    Family{.model_type = "cohere_compass_text",
           .rope = {.sections = SectionKeys::accepted},
           .layers = {.pattern = {.interval = 1}, .rotating = RotaryLayers::with_parameters},
           .note = "layer types whose rope_parameters are null do not rotate",
           .source = "cohere_compass"},
    // hunyuan_vl/modeling_hunyuan_vl.py gives channels i and i + d/2 different axes, which is no
    // rotation unless positions on all axes are equal.
    Family{.model_type = "hunyuan_vl_text",
           .base = {10000},
           .rope = {.dialect = RopeDialect::hunyuan, .sections = SectionKeys::accepted},
           .keys = {.head_dim = "attention_head_dim"},
           .note = "text alone: features of one pair follow different axes of an image",
           .source = "hunyuan_vl"},
    qwen3_5("qwen3_5_text", "qwen3_5"),
    qwen3_5("qwen3_5_moe_text", "qwen3_5_moe"),
    glm4v("glm4v_text", Pairing::interleaved, 1, "glm4v"),
    glm4v("glm4v_moe_text", Pairing::half, 0.5, "glm4v_moe"),
    glm4v("glm_ocr_text", Pairing::interleaved, 1, "glm_ocr"),
    glm4v("glm_image_text", Pairing::half, 1, "glm_image"),
    Family{.model_type = "ernie4_5_vl_moe_text",
           .pairing = Pairing::interleaved,
           .base = {500000},
           .rounding = Rounding::result,
           .rope = {.sections = SectionKeys::accepted},
           .note = "mrope_section is in the order height, width, time",
           .source = "ernie4_5_vl_moe"},
};

}  // namespace

std::span<const Family> multimodal_families() { return multimodal_rows; }

}  // namespace rotary
