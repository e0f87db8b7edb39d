// SPDX-License-Identifier: Apache-2.0
// The conventions that have a name. A new model is a row: the row it follows, what differs, and the
// file that says so.
#include <array>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/m_rope.hpp"

namespace rotary {
namespace {

using Change = void (*)(MRopeConvention&);

constexpr MRopeConvention row(std::string_view name, std::string_view source, MRopeConvention like,
                              Change change = nullptr) {
  like.name = name;
  like.source = source;
  if (change != nullptr) change(like);
  return like;
}

// Where a file is said without a project, it is in src/transformers/models of
// huggingface/transformers 5.23.
constexpr MRopeConvention qwen2_vl = row("qwen2-vl", "qwen2_vl/modeling_qwen2_vl.py", {});

constexpr MRopeConvention qwen2_vl_4_57 =
    row("qwen2-vl-4.57", "qwen2_vl/modeling_qwen2_vl.py, transformers 4.57 and 5.0; also vLLM",
        qwen2_vl, [](MRopeConvention& it) { it.next = NextPosition::past_highest; });

constexpr MRopeConvention qwen2_5_vl =
    row("qwen2.5-vl", "qwen2_5_vl/modeling_qwen2_5_vl.py", qwen2_vl, [](MRopeConvention& it) {
      it.frame_times = FrameTimes::rate_first;
      it.ids_per_second = 2;  // of the published configs; the class's default is 4
    });

constexpr MRopeConvention qwen3_vl =
    row("qwen3-vl", "qwen3_vl/modeling_qwen3_vl.py", qwen2_vl,
        [](MRopeConvention& it) { it.frames = VideoFrames::own_groups; });

constexpr MRopeConvention qwen2_5_omni =
    row("qwen2.5-omni", "qwen2_5_omni/modeling_qwen2_5_omni.py", qwen2_vl, [](MRopeConvention& it) {
      it.frame_times = FrameTimes::seconds_first;
      it.ids_per_second = 25;
      it.next = NextPosition::past_highest;
      it.sound = SoundOfVideo::by_chunk;
      it.ids_per_chunk = 50;
    });

constexpr std::array conventions = {
    qwen2_vl,
    qwen2_vl_4_57,
    qwen2_5_vl,
    row("qwen2.5-vl-5.16", "qwen2_5_vl/modeling_qwen2_5_vl.py, transformers 5.12 to 5.16",
        qwen2_5_vl, [](MRopeConvention& it) { it.frame_times = FrameTimes::whole_seconds; }),
    row("qwen2.5-vl-4.57", "qwen2_5_vl/modeling_qwen2_5_vl.py, transformers 4.57 and 5.0",
        qwen2_5_vl,
        [](MRopeConvention& it) {
          it.frame_times = FrameTimes::whole_seconds;
          it.next = NextPosition::past_highest;
        }),
    row("qwen2.5-vl-vllm", "vllm/model_executor/models/qwen2_5_vl.py of vLLM", qwen2_5_vl,
        [](MRopeConvention& it) {
          it.frame_times = FrameTimes::seconds_first;
          it.next = NextPosition::past_highest;
        }),
    qwen3_vl,
    row("qwen3.5", "qwen3_5/modeling_qwen3_5.py", qwen3_vl),
    row("qwen4-exp", "qwen4_exp/modeling_qwen4_exp.py", qwen3_vl),
    row("cohere-compass", "cohere_compass/modeling_cohere_compass.py", qwen3_vl),
    row("cosmos3-edge", "cosmos3_edge/modeling_cosmos3_edge.py", qwen3_vl),
    row("cosmos3-omni", "cosmos3_omni/modeling_cosmos3_omni.py", qwen3_vl),
    row("glm-4v", "glm4v/modeling_glm4v.py", qwen3_vl),
    row("glm-4.5v", "glm4v_moe/modeling_glm4v_moe.py", qwen3_vl),
    row("glm-4.6v", "glm46v/modeling_glm46v.py", qwen3_vl),
    row("glm-ocr", "glm_ocr/modeling_glm_ocr.py", qwen3_vl),
    row("glm-image", "glm_image/modeling_glm_image.py", qwen2_vl,
        [](MRopeConvention& it) {
          it.merge = 1;
          it.frames = VideoFrames::none;
        }),
    row("ernie-4.5-vl", "ernie4_5_vl_moe/modeling_ernie4_5_vl_moe.py", qwen2_vl,
        [](MRopeConvention& it) { it.temporal_merge = 2; }),
    row("paddleocr-vl", "paddleocr_vl/modeling_paddleocr_vl.py", qwen2_vl),
    qwen2_5_omni,
    row("qwen3-omni", "qwen3_omni_moe/modeling_qwen3_omni_moe.py", qwen2_5_omni,
        [](MRopeConvention& it) {
          it.frame_times = FrameTimes::not_truncated;
          it.ids_per_second = 13;  // of the published configs; the class's default is 25
          it.sound = SoundOfVideo::by_token;
        }),
    row("hunyuan-vl", "hunyuan_vl/modeling_hunyuan_vl.py", qwen2_vl,
        [](MRopeConvention& it) {
          it.axes = 4;
          it.counts = {IdAxis::token, IdAxis::column, IdAxis::row, IdAxis::image};
          it.next = NextPosition::past_tokens;
          it.vision = VisionTokens::lines;
          it.frames = VideoFrames::none;
        }),
    row("minicpm-v-4.7", "minicpmv4_7/modeling_minicpmv4_7.py", qwen3_vl,
        [](MRopeConvention& it) {
          it.merge = 4;  // downsample_mode 16x; 4x: 2
          it.vision = VisionTokens::canvas;
        }),
    row("llama.cpp", "tools/mtmd/mtmd.cpp, src/llama-graph.cpp of ggml-org/llama.cpp", qwen3_vl,
        [](MRopeConvention& it) { it.axes = 4; }),
};

std::string all_names() {
  std::string names;
  for (const MRopeConvention& each : conventions) {
    if (!names.empty()) names += ", ";
    names += each.name;
  }
  return names;
}

}  // namespace

std::span<const MRopeConvention> m_rope_conventions() noexcept { return conventions; }

Result<MRopeConvention> m_rope_convention(std::string_view name) noexcept {
  return guarded([&]() -> Result<MRopeConvention> {
    for (const MRopeConvention& each : conventions)
      if (each.name == name) return each;
    return invalid_argument("name must be one of ", all_names(), "; got '", name, "'");
  });
}

}  // namespace rotary
