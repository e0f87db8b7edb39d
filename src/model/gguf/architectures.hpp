// SPDX-License-Identifier: Apache-2.0
// The choices that llama.cpp's code makes for each architecture: rows for the names in
// llama-arch.cpp. Sources at gguf_commit(): llama_model_rope_type (src/llama-model.cpp) for rope
// types, conversion/*.py for permutations, and src/models/*.cpp for all else.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rotary/model_spec.hpp"

namespace rotary {

// The features of a pair in ggml's operation, and the axes of pairs.
enum class RopeType {
  none,           // the graph has no rope operation
  norm,           // (2i, 2i + 1)
  neox,           // (i, i + d/2)
  mrope,          // neox, with axes in blocks
  imrope,         // neox, with axes in turn
  norm_or_mrope,  // mrope if dimension_sections has at least two axes
  neox_or_mrope,
};

// The condition for sliding layers. SlidingForm::period or the file says which layers slide.
enum class SlidingIf {
  never,
  always,
  windowed,  // if attention.sliding_window is present and not 0
  not_zero,  // unless attention.sliding_window is 0 (Llama 4)
  of_64,     // if there are 64 layers (EXAONE 4 32B)
};

enum class SlidingBase {
  of_full,       // rope.freq_base_swa, else rope.freq_base
  ten_thousand,  // rope.freq_base_swa, else 10000
  ignored,       // rope.freq_base
};

enum class SlidingRule {
  as_full,   // as for full layers
  unscaled,  // factor 1
  plain,     // factor 1, and neither YaRN nor its factor on cos and sin
};

struct SlidingForm {
  SlidingIf present = SlidingIf::never;
  std::int64_t period = 0;   // slides if layer % period < period - 1; 0: an array in the file
  bool dense_first = false;  // slides if layer % period != 0 instead
  SlidingBase base = SlidingBase::of_full;
  SlidingRule rule = SlidingRule::as_full;
};

// The layers that rotate q and k. Layers count from 0.
enum class Rotating {
  all,
  sliding,            // sliding layers; all if there are none
  not_every_fourth,   // (layer + 1) % 4 != 0: a constant of llama.cpp
  not_first_of_four,  // layer % 4 != 0; all if attention.sliding_window is 0
  rope_pattern,       // attention.rope_pattern
  if_finetuned,       // all, unless rope.scaling.finetuned is false
};

enum class GgufTemperature {
  none,
  llama4,    // constants, for layers that do not rotate
  mistral3,  // temperature_scale; the interval is the original context
  keys,      // temperature_scale and temperature_length
};

// The layers without attention. by_head_count: those whose attention.head_count_kv is 0.
// interval_4, interval_8: those that attention.recurrent_layers lists; without this list all but
// every full_attention_interval-th (default 4 or 8). all: every layer.
enum class Recurrent { by_head_count, interval_4, interval_8, all };

enum class Converted {
  kept,      // the checkpoint has the file's pairing
  permuted,  // rows from half to interleaved
  to_half,   // rows from interleaved to half, if the file has sections (GLM-4V)
};

struct GgufArchitecture {
  std::string_view name;  // in tables, the names of all architectures with this row
  RopeType rope = RopeType::none;
  LayerEncoding encoding =
      LayerEncoding::rotary;  // another encoding: the layers have no rope operation
  Converted converted = Converted::kept;
  SlidingForm sliding = {};
  Rotating rotating = Rotating::all;
  GgufTemperature temperature = GgufTemperature::none;
  Recurrent recurrent = Recurrent::by_head_count;
  bool is_latent = false;             // MLA: the last features of a head are rotated
  bool has_yarn_multiplier = false;   // rope.scaling.yarn_log_multiplier, stored times 0.1
  bool yarn_in_softmax = false;       // YaRN's factor, squared, is in the softmax scale
  bool reads_alpha = false;           // rope.scaling.alpha, which enlarges the base
  bool reads_betas = false;           // rope.scaling.yarn_beta_fast and _slow
  bool factors_on_full_only = false;  // rope_freqs applies to full layers only
  bool half_on_full = false;          // full layers rotate half of dimension_count
  bool is_whole_head = false;         // dimension_count must be the head's width
  std::string_view refusal = {};      // why no spec describes it; empty: not refused
};

// The row of this architecture; absent if llama.cpp does not know it.
[[nodiscard]] std::optional<GgufArchitecture> find_gguf_architecture(std::string_view name);

[[nodiscard]] std::vector<std::string_view> gguf_architecture_names();

[[nodiscard]] std::string_view name_of(RopeType type);

}  // namespace rotary
