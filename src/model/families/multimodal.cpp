// SPDX-License-Identifier: Apache-2.0
// The language models of vision models: mrope_section divides the pairs of one table among time,
// height and width. Sources: recomposition_frequencies in the modeling file of each row's folder.
#include <array>

#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr Family whole_head(std::string_view model_type, double base, std::int64_t head_dim,
                            const AxesForm& axes) {
  return {.model_type = model_type, .base = {base}, .head = {.dim = head_dim}, .axes = axes};
}

// All pairs for time, then height, then width.
constexpr AxesForm in_chunks(const std::array<std::int64_t, 4>& otherwise) {
  return {.given_by = AxisShares::sections, .otherwise = otherwise};
}

// Pairs 1, 4, 7, … for height, 2, 5, 8, … for width, others for time.
constexpr AxesForm in_turn(const std::array<std::int64_t, 4>& otherwise) {
  return {.given_by = AxisShares::sections,
          .otherwise = otherwise,
          .arrangement = AxisArrangement::interleaved};
}

constexpr Family qwen3_5(std::string_view model_type) {
  return {.model_type = model_type,
          .base = {10000},
          .part = {.given_by = PartialRotary::fraction, .fraction = 0.25},
          .head = {.dim = 256},
          .axes = in_turn({11, 11, 10}),
          .layers = {.pattern = {.interval_key = "full_attention_interval",
                                 .interval = 4,
                                 .other_type = "linear_attention"}},
          .note = "three layers of four have no attention"};
}

constexpr Family glm4v(std::string_view model_type, Pairing pairing, double fraction) {
  return {.model_type = model_type,
          .pairing = pairing,
          .base = {10000},
          .part = {.given_by = PartialRotary::fraction, .fraction = fraction},
          .axes = in_chunks({8, 12, 12})};
}

constexpr Family cosmos3_edge() {
  Family family = whole_head("cosmos3_edge_text", 1e8, 128, in_turn({24, 20, 20}));
  family.rope = {.scales = false,
                 .otherwise = R"({"rope_type": "default", "rope_theta": 100000000.0})"};
  return family;
}

constexpr std::array multimodal_rows = {
    whole_head("qwen2_vl_text qwen2_5_vl_text qwen2_5_omni_text", 1e6, 0, in_chunks({16, 24, 24})),
    whole_head("qwen3_vl_text", 500000, 128, in_turn({24, 20, 20})),
    whole_head("qwen3_vl_moe_text", 500000, 0, in_turn({24, 20, 20})),
    whole_head("qwen3_omni_moe_text", 1e6, 0, in_turn({24, 20, 20})),
    whole_head("paddleocr_vl_text", 500000, 128, in_chunks({16, 24, 24})),
    cosmos3_edge(),
    // qwen4_exp/configuration_qwen4_exp.py: full_attention has the name indexed_attention.
    Family{.model_type = "qwen4_exp_text",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction},
           .head = {.dim = 256},
           .axes = in_turn({11, 11, 10}),
           .layers = {.pattern = {.interval_key = "full_attention_interval",
                                  .interval = 4,
                                  .full_type = "indexed_attention",
                                  .other_type = "linear_attention",
                                  .alias_of_full = "indexed_attention"}},
           .note = "three layers of four have no attention"},
    // cohere_compass/modeling_cohere_compass.py: null in rope_parameters means no rotation.
    Family{.model_type = "cohere_compass_text",
           .axes = in_turn({24, 20, 20}),
           .layers = {.pattern = {.interval = 1}, .rotating = RotaryLayers::with_parameters},
           .note = "layer types whose rope_parameters are null do not rotate"},
    // hunyuan_vl/modeling_hunyuan_vl.py gives features i and i + d/2 different axes, which is a
    // rotation only for equal positions on all axes.
    Family{.model_type = "hunyuan_vl_text",
           .base = {10000},
           .rope = {.dialect = RopeDialect::hunyuan},
           .axes = {.given_by = AxisShares::no_rotation},
           .keys = {.head_dim = "attention_head_dim"},
           .note = "only text: the features of a pair follow different axes of an image"},
    qwen3_5("qwen3_5_text qwen3_5_moe_text"),
    glm4v("glm4v_text", Pairing::interleaved, 1),
    glm4v("glm4v_moe_text", Pairing::half, 0.5),
    glm4v("glm_ocr_text", Pairing::interleaved, 1),
    glm4v("glm_image_text", Pairing::half, 1),
    Family{.model_type = "ernie4_5_vl_moe_text",
           .pairing = Pairing::interleaved,
           .base = {500000},
           .rounding = Rounding::result,
           .rope = {.scales = false},
           .axes = {.given_by = AxisShares::sections,
                    .otherwise = {22, 22, 20},
                    .arrangement = AxisArrangement::interleaved_then_last,
                    .order = {1, 2, 0}},
           .note = "mrope_section is in the order height, width, time"},
};

}  // namespace

std::span<const Family> multimodal_families() { return row_for_each_word<multimodal_rows>; }

}  // namespace rotary
