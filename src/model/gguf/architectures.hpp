// SPDX-License-Identifier: Apache-2.0
// The constants that llama.cpp's code has for each architecture, beyond the keys of files, as data:
// rows for the names of llama-arch.cpp. Read from llama.cpp at gguf_commit(): rope types from
// llama_model_rope_type (src/llama-model.cpp), the rest from src/models/*.cpp, permutations from
// conversion/*.py.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rotary/model_spec.hpp"

namespace rotary {

// Which pairs ggml's operation turns together, and on which axes.
enum class RopeType {
  none,           // the graph has no rope operation
  norm,           // (2i, 2i + 1)
  neox,           // (i, i + d/2)
  mrope,          // neox; pairs are dealt to axes in blocks
  imrope,         // neox; pairs are dealt to axes in turn
  norm_or_mrope,  // mrope where the file has dimension_sections with two axes or more
  neox_or_mrope,
};

// When a model has sliding layers, which a row's period, or an array of the file, tells apart.
enum class SlidingIf {
  never,
  always,
  windowed,  // where attention.sliding_window is there and not 0
  not_zero,  // unless attention.sliding_window is there and 0 (Llama 4)
  of_64,     // with 64 layers (EXAONE 4 32B)
};

// The base of sliding layers.
enum class SlidingBase {
  of_full,       // rope.freq_base_swa, else rope.freq_base
  ten_thousand,  // rope.freq_base_swa, else 10000
  required,      // rope.freq_base_swa
  ignored,       // rope.freq_base, although the file may have the other key
};

// How the scaling rule holds for sliding layers.
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

// The layers whose q and k are rotated.
enum class Rotating {
  all,
  sliding,            // only those, where the model has any
  not_every_fourth,   // (layer + 1) % 4 != 0: a constant of llama.cpp
  not_first_of_four,  // layer % 4 != 0, where attention.sliding_window is not 0; a constant
  rope_pattern,       // attention.rope_pattern
  if_finetuned,       // all, unless rope.scaling.finetuned is false
};

enum class GgufTemperature {
  none,
  llama4,    // constants, on layers that do not rotate
  mistral3,  // temperature_scale, interval the original context
  keys,      // temperature_scale and temperature_length
};

// Which layers have no attention, beside those with attention.head_count_kv 0: those of
// attention.recurrent_layers, else all but each fourth or eighth (full_attention_interval); or all.
enum class Recurrent { by_head_count, interval_4, interval_8, all };

// A converted checkpoint's q and k.
enum class Converted {
  kept,      // the pairing of the checkpoint is that of the file
  permuted,  // rows from half to interleaved
  to_half,   // rows from interleaved to half, where the file has sections (GLM-4V)
};

struct GgufArchitecture {
  std::string_view name;  // in the tables: of all architectures that have this row
  RopeType rope = RopeType::none;
  LayerEncoding encoding =
      LayerEncoding::rotary;  // of layers that the rope operation does not have
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
  bool factors_on_full_only = false;  // rope_freqs
  bool half_on_full = false;          // full layers turn half of dimension_count
  bool is_whole_head = false;         // dimension_count must be the head's width
  std::string_view refusal = {};      // why no spec describes it; empty: it is read
};

// The row of one architecture, with its name alone; absent if llama.cpp did not know it.
[[nodiscard]] std::optional<GgufArchitecture> find_gguf_architecture(std::string_view name);

// Every name, sorted.
[[nodiscard]] std::vector<std::string_view> gguf_architecture_names();

[[nodiscard]] std::string_view name_of(RopeType type);

}  // namespace rotary
