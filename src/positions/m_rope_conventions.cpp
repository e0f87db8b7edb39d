// SPDX-License-Identifier: Apache-2.0
// The named conventions. Each row states its source file, the convention that it follows, and its
// changes.
#include <array>
#include <charconv>
#include <string>
#include <string_view>

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

// Files without a project are in src/transformers/models of huggingface/transformers 5.24. A
// release in a name is the last with its convention, or 4.57 if releases 4 and 5.0 share it.
constexpr MRopeConvention qwen2_vl = row("qwen2-vl", "qwen2_vl/modeling_qwen2_vl.py", {});

constexpr MRopeConvention qwen2_vl_4_57 =
    row("qwen2-vl-4.57", "qwen2_vl/modeling_qwen2_vl.py, transformers 4.45 to 5.1; also vLLM",
        qwen2_vl, [](MRopeConvention& it) { it.next = NextPosition::past_highest; });

constexpr MRopeConvention qwen2_vl_5_2 =
    row("qwen2-vl-5.2", "qwen2_vl/modeling_qwen2_vl.py, transformers 5.2", qwen2_vl_4_57,
        [](MRopeConvention& it) { it.offset = DecodeOffset::not_negative; });

constexpr MRopeConvention qwen2_vl_5_5 =
    row("qwen2-vl-5.5", "qwen2_vl/modeling_qwen2_vl.py, transformers 5.3 to 5.5", qwen2_vl,
        [](MRopeConvention& it) { it.frame_times = FrameTimes::start; });

constexpr MRopeConvention qwen2_5_vl =
    row("qwen2.5-vl", "qwen2_5_vl/modeling_qwen2_5_vl.py", qwen2_vl, [](MRopeConvention& it) {
      it.frame_times = FrameTimes::rate_first;
      it.ids_per_second = 2;  // in published configs; the class's default is 4
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

constexpr void merge_two_frames(MRopeConvention& it) { it.temporal_merge = 2; }

constexpr std::array conventions = {
    qwen2_vl,
    qwen2_vl_5_5,
    qwen2_vl_5_2,
    qwen2_vl_4_57,
    qwen2_5_vl,
    row("qwen2.5-vl-5.17", "qwen2_5_vl/modeling_qwen2_5_vl.py, transformers 5.6 to 5.17",
        qwen2_5_vl, [](MRopeConvention& it) { it.frame_times = FrameTimes::whole_seconds; }),
    row("qwen2.5-vl-5.5", "qwen2_5_vl/modeling_qwen2_5_vl.py, transformers 5.5", qwen2_5_vl,
        [](MRopeConvention& it) { it.frame_times = FrameTimes::start_seconds; }),
    row("qwen2.5-vl-5.4", "qwen2_5_vl/modeling_qwen2_5_vl.py, transformers 5.3 and 5.4", qwen2_5_vl,
        [](MRopeConvention& it) { it.frame_times = FrameTimes::start_rate; }),
    row("qwen2.5-vl-4.57", "qwen2_5_vl/modeling_qwen2_5_vl.py, transformers 4.52 to 5.2",
        qwen2_5_vl,
        [](MRopeConvention& it) {
          it.frame_times = FrameTimes::whole_seconds;
          it.next = NextPosition::past_highest;
        }),
    row("qwen2.5-vl-vllm",
        "vllm/model_executor/models/qwen2_5_vl.py of vLLM; transformers 4.49 to 4.51", qwen2_5_vl,
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
    row("ernie-4.5-vl", "ernie4_5_vl_moe/modeling_ernie4_5_vl_moe.py", qwen2_vl, merge_two_frames),
    row("ernie-4.5-vl-5.5", "ernie4_5_vl_moe/modeling_ernie4_5_vl_moe.py, transformers 5.3 to 5.5",
        qwen2_vl_5_5, merge_two_frames),
    row("ernie-4.5-vl-5.2", "ernie4_5_vl_moe/modeling_ernie4_5_vl_moe.py, transformers 5.0 to 5.2",
        qwen2_vl_4_57, merge_two_frames),
    row("paddleocr-vl", "paddleocr_vl/modeling_paddleocr_vl.py", qwen2_vl),
    qwen2_5_omni,
    row("qwen3-omni", "qwen3_omni_moe/modeling_qwen3_omni_moe.py", qwen2_5_omni,
        [](MRopeConvention& it) {
          it.frame_times = FrameTimes::not_truncated;
          it.ids_per_second = 13;  // in published configs; the class's default is 25
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
          it.merge = 4;  // for downsample_mode 16x; 2 for 4x
          it.vision = VisionTokens::canvas;
        }),
    row("llama.cpp", "tools/mtmd/mtmd.cpp, src/llama-graph.cpp of ggml-org/llama.cpp", qwen3_vl,
        [](MRopeConvention& it) { it.axes = 4; }),
};

// The releases of Transformers, from first to last, in which a model follows a named convention.
// Lists only models whose releases differ. Found by running get_rope_index of each release (./dev
// golden --classes).
struct Releases {
  std::string_view model;
  int first;  // 100 * major + minor
  int last;
  std::string_view name;
};

constexpr std::array releases = {
    Releases{"qwen2-vl", 445, 501, "qwen2-vl-4.57"},
    Releases{"qwen2-vl", 502, 502, "qwen2-vl-5.2"},
    Releases{"qwen2-vl", 503, 505, "qwen2-vl-5.5"},
    Releases{"qwen2-vl", 506, 524, "qwen2-vl"},
    Releases{"qwen2.5-vl", 449, 451, "qwen2.5-vl-vllm"},
    Releases{"qwen2.5-vl", 452, 502, "qwen2.5-vl-4.57"},
    Releases{"qwen2.5-vl", 503, 504, "qwen2.5-vl-5.4"},
    Releases{"qwen2.5-vl", 505, 505, "qwen2.5-vl-5.5"},
    Releases{"qwen2.5-vl", 506, 517, "qwen2.5-vl-5.17"},
    Releases{"qwen2.5-vl", 518, 524, "qwen2.5-vl"},
    Releases{"ernie-4.5-vl", 500, 502, "ernie-4.5-vl-5.2"},
    Releases{"ernie-4.5-vl", 503, 505, "ernie-4.5-vl-5.5"},
    Releases{"ernie-4.5-vl", 506, 524, "ernie-4.5-vl"},
    Releases{"paddleocr-vl", 500, 501, "qwen2-vl-4.57"},
    Releases{"paddleocr-vl", 502, 502, "qwen2-vl-5.2"},
    Releases{"paddleocr-vl", 503, 505, "qwen2-vl-5.5"},
    Releases{"paddleocr-vl", 506, 524, "paddleocr-vl"},
    Releases{"qwen3-vl", 457, 502, "qwen3-vl"},
    Releases{"qwen3-vl", 504, 524, "qwen3-vl"},  // 5.3 fails on videos
    Releases{"qwen3.5", 502, 502, "qwen3.5"},
    Releases{"qwen3.5", 504, 524, "qwen3.5"},
};

// 100 * major + minor of a text like "5.3"; 0 for other text.
int release_of(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto number = [](std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() ? value : -1;
  };
  if (dot == std::string_view::npos) return 0;
  const int major = number(text.substr(0, dot));
  const int minor = number(text.substr(dot + 1));
  return major > 0 && minor >= 0 && minor < 100 ? 100 * major + minor : 0;
}

// The convention for a model and a release, as in "qwen2.5-vl-5.3"; empty if unknown.
std::string_view name_of_release(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  if (dash == std::string_view::npos) return {};
  const int release = release_of(text.substr(dash + 1));
  for (const Releases& each : releases)
    if (each.model == text.substr(0, dash) && each.first <= release && release <= each.last)
      return each.name;
  return {};
}

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
    const std::string_view of_release = name_of_release(name);
    for (const MRopeConvention& each : conventions)
      if (each.name == name || each.name == of_release) return each;
    return invalid_argument("name must be one of ", all_names(),
                            ", or one of qwen2-vl, qwen2.5-vl, qwen3-vl, qwen3.5, ernie-4.5-vl and "
                            "paddleocr-vl with a release of Transformers, such as qwen2.5-vl-5.3; "
                            "got '",
                            name, "'");
  });
}

}  // namespace rotary
