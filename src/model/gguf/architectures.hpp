// SPDX-License-Identifier: Apache-2.0
// The choices that llama.cpp's code, not the file, makes for each architecture, as data: rows for
// the names in llama-arch.cpp. Taken from llama.cpp at gguf_commit(): rope types from
// llama_model_rope_type (src/llama-model.cpp), permutations from conversion/*.py, the rest from
// src/models/*.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rotary/model_spec.hpp"

namespace rotary {

// Which features ggml's operation pairs, and which axis each pair follows.
enum class RopeType {
  none,           // the graph has no rope operation
  norm,           // (2i, 2i + 1)
  neox,           // (i, i + d/2)
  mrope,          // neox; pairs are dealt to axes in blocks
  imrope,         // neox; pairs are dealt to axes in turn
  norm_or_mrope,  // mrope where the file has dimension_sections with two axes or more
  neox_or_mrope,
};

// When a model has sliding layers. Which layers they are follows from SlidingForm::period or from
// an array in the file.
enum class SlidingIf {
  never,
  always,
  windowed,  // where attention.sliding_window is there and not 0
  not_zero,  // unless attention.sliding_window is there and 0 (Llama 4)
  of_64,     // with 64 layers (EXAONE 4 32B)
};

// Where sliding layers take their base (theta) from.
enum class SlidingBase {
  of_full,       // rope.freq_base_swa, else rope.freq_base
  ten_thousand,  // rope.freq_base_swa, else 10000
  required,      // rope.freq_base_swa
  ignored,       // rope.freq_base, although the file may have the other key
};

enum class SlidingRule {
  as_full,   // as for full layers
  unscaled,  // factor 1
  plain,     // factor 1, and neither YaRN nor its factor on cos and sin
};

struct SlidingForm {
  SlidingIf present = SlidingIf::never;
  std::int64_t period = 0;   // 0: the file must have an array; else layer % period < period - 1
  bool dense_first = false;  // layer % period != 0
  SlidingBase base = SlidingBase::of_full;
  SlidingRule rule = SlidingRule::as_full;
};

// Which layers rotate q and k. A layer's number counts from 0.
enum class Rotating {
  all,
  sliding,            // only those, where the model has any
  not_every_fourth,   // (layer + 1) % 4 != 0: a constant of llama.cpp
  not_first_of_four,  // layer % 4 != 0 if attention.sliding_window is not 0; else all
  rope_pattern,       // attention.rope_pattern
  if_finetuned,       // all, unless rope.scaling.finetuned is false
};

enum class GgufTemperature {
  none,
  llama4,    // constants, on layers that do not rotate
  mistral3,  // temperature_scale, interval the original context
  keys,      // temperature_scale and temperature_length
};

// Which layers have no attention. by_head_count: those with attention.head_count_kv 0. Other values
// add layers to these. interval_4, interval_8: those listed in attention.recurrent_layers, or
// without that list all but every 4th or 8th layer (the file may give another number as
// full_attention_interval). all: every layer.
enum class Recurrent { by_head_count, interval_4, interval_8, all };

enum class Converted {
  kept,      // the pairing of the checkpoint is that of the file
  permuted,  // rows from half to interleaved
  to_half,   // rows from interleaved to half, where the file has sections (GLM-4V)
};

struct GgufArchitecture {
  std::string_view name;  // in the tables: of all architectures that have this row
  RopeType rope = RopeType::none;
  LayerEncoding encoding =
      LayerEncoding::rotary;  // another encoding: the layers have no rope operation
  Converted converted = Converted::kept;
  SlidingForm sliding = {};
  Rotating rotating = Rotating::all;
  GgufTemperature temperature = GgufTemperature::none;
  Recurrent recurrent = Recurrent::by_head_count;
  bool is_latent = false;            // MLA: the last features of a head are rotated
  bool has_yarn_multiplier = false;  // rope.scaling.yarn_log_multiplier, stored as 0.1 of its value
  bool yarn_in_softmax = false;      // the square of YaRN's factor multiplies the softmax scale
  bool reads_alpha = false;          // rope.scaling.alpha, which enlarges the base
  bool reads_betas = false;          // rope.scaling.yarn_beta_fast and _slow
  bool factors_on_full_only = false;  // rope_freqs applies to full layers only
  bool half_on_full = false;          // full layers turn half of dimension_count
  bool is_whole_head = false;         // dimension_count must be the head's width
  std::string_view refusal = {};      // why no spec describes it; empty: it is read
};

// The row of this architecture, with only this name; absent if llama.cpp does not know it.
[[nodiscard]] std::optional<GgufArchitecture> find_gguf_architecture(std::string_view name);

[[nodiscard]] std::vector<std::string_view> gguf_architecture_names();

[[nodiscard]] std::string_view name_of(RopeType type);

}  // namespace rotary
