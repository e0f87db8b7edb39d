// SPDX-License-Identifier: Apache-2.0
// Families in which some layers do not rotate or have no attention.
#include <array>

#include "model/encoding_choice.hpp"
#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr LayerPattern every_fourth_full(std::string_view key) {
  return {.interval_key = key, .interval = 4};
}

constexpr LayerPattern every_fourth_attends(std::string_view key) {
  return {.interval_key = key, .interval = 4, .other_type = "linear_attention"};
}

// The assumption of Transformers for a config without a list of layers.
constexpr LayerPattern none_attends = {.interval = 1, .full_type = "linear_attention"};
constexpr LayerPattern listed = {.interval = must_be_listed};

constexpr std::string_view beam_type(std::int64_t layer, std::int64_t layers) {
  return (layer + 1) % 6 == 0 || layer == layers - 1 ? "full_attention" : "sliding_attention";
}

constexpr std::string_view flint_type(std::int64_t layer, std::int64_t layers) {
  const bool is_full = layer < 2 || layer % 4 == 1 || layer == layers - 1;
  return is_full ? "full_attention" : "sliding_attention";
}

// Every fourth layer, counted from the last, is full.
constexpr std::string_view muse_type(std::int64_t layer, std::int64_t layers) {
  return (layers - 1 - layer) % 4 == 0 ? "full_attention" : "sliding_attention";
}

constexpr Family muse(std::string_view model_type, std::string_view rope, std::int64_t head_dim) {
  return {.model_type = model_type,
          .base = {10000},
          .head = {.dim = head_dim},
          .rope = {.otherwise = rope},
          .layers = {.pattern = {.type_of = muse_type}, .rotating = RotaryLayers::nonzero_theta},
          .note = "layer_rope_theta is 0 for a layer that does not rotate"};
}

constexpr std::string_view beam_rope =
    R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": null})";

constexpr std::string_view lara_type(std::int64_t layer, std::int64_t) {
  if (layer % 5 == 3) return "full_attention";
  return layer % 5 == 1 || layer % 5 == 4 ? "sliding_attention" : "linear_attention";
}

constexpr std::string_view sliding_note = "only layers with a sliding window rotate";

constexpr std::array layered_rows = {
    // smollm3/configuration_smollm3.py and llama4's: no_rope_layers is 1 for layers that rotate.
    // Without this list, every no_rope_layer_interval-th layer (default 4) does not rotate.
    Family{.model_type = "smollm3",
           .base = {2e6},
           .layers = {.rotating = RotaryLayers::no_rope_layers},
           .note = "every fourth layer does not rotate"},
    Family{.model_type = "llama4_text",
           .pairing = Pairing::interleaved,
           .base = {500000},
           .rounding = Rounding::result,
           .head = {.dim = 128},
           .layers = {.rotating = RotaryLayers::no_rope_layers,
                      .temperature = TemperatureKeys::llama4},
           .note = "every fourth layer does not rotate; its queries grow with the position"},
    Family{.model_type = "cohere2",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .rounding = Rounding::table,
           .layers = {.pattern = every_fourth_full("sliding_window_pattern"),
                      .rotating = RotaryLayers::sliding},
           .note = sliding_note},
    Family{.model_type = "cohere2_moe",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .rounding = Rounding::table,
           .head = {.dim = 128},
           .rope = {.dictionaries = Dictionaries::rope_parameters},
           .layers = {.pattern = every_fourth_full("sliding_window_pattern"),
                      .rotating = RotaryLayers::sliding},
           .note = sliding_note},
    // beam/modeling_beam.py: null in rope_parameters means that a layer type does not rotate.
    Family{.model_type = "beam",
           .base = {10000},
           .rounding = Rounding::result,
           .head = {.dim = 128},
           .rope = {.otherwise = beam_rope},
           .layers = {.pattern = {.type_of = beam_type},
                      .rotating = RotaryLayers::with_parameters,
                      .temperature = TemperatureKeys::beam},
           .note = "full layers do not rotate; their queries grow with the position"},
    Family{.model_type = "flint",
           .base = {10000},
           .head = {.dim = 128},
           .layers = {.pattern = {.type_of = flint_type}, .rotating = RotaryLayers::sliding},
           .note = sliding_note},
    Family{.model_type = "lara_mini",
           .base = {10000},
           .head = {.dim = 128},
           .layers = {.pattern = {.type_of = lara_type}, .rotating = RotaryLayers::sliding},
           .note = sliding_note},
    Family{.model_type = "kolibri1",
           .base = {10000},
           .head = {.dim = 128},
           .layers = {.pattern = {.interval = 5}, .rotating = RotaryLayers::sliding_if_windowed},
           .note = sliding_note},
    muse("muse_glimmer_text", "", 128),
    muse("muse_spark_text", R"({"rope_type": "default", "rope_theta": 500000.0})", 64),
    Family{.model_type = "exaone4 exaone_moe",
           .base = {10000},
           .layers = {.pattern = every_fourth_full("sliding_window_pattern"),
                      .rotating = RotaryLayers::sliding_if_windowed},
           .note = sliding_note},
    Family{.model_type = "afmoe",
           .base = {10000},
           .head = {.dim = 128},
           .layers = {.pattern = every_fourth_full("global_attn_every_n_layers"),
                      .rotating = RotaryLayers::sliding},
           .note = sliding_note},
    Family{.model_type = "granite_swa granitemoe_swa",
           .base = {10000},
           .layers = {.rotating = RotaryLayers::layer_rope_theta},
           .note = "layer_rope_theta gives each layer its base; 0: does not rotate"},
    Family{.model_type = "granitemoehybrid",
           .choice = {.key = "position_embedding_type", .read = rope_or_none},
           .base = {10000},
           .layers = {.pattern = none_attends},
           .note = "rotates if position_embedding_type is rope; some layers have no attention"},
    // qwen3_next/configuration_qwen3_next.py: partial_rotary_factor 0.25.
    Family{.model_type = "qwen3_next",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction, .fraction = 0.25},
           .head = {.dim = 256},
           .layers = {.pattern = every_fourth_attends("full_attention_interval")},
           .note = "three layers of four have no attention"},
    Family{.model_type = "olmo_hybrid",
           .base = {10000},
           .rounding = Rounding::result,
           .layers = {.pattern = every_fourth_attends("")},
           .note = "three layers of four have no attention"},
    // lfm2/configuration_lfm2.py: layer_types or full_attn_idxs.
    Family{.model_type = "lfm2 lfm2_moe", .base = {1e6}, .note = "some layers are convolutions"},
    // minimax/modeling_minimax.py rotates the whole head; vLLM and llama.cpp only rotary_dim.
    Family{.model_type = "minimax",
           .base = {1e6},
           .part = {.rotary_dim_key = RotaryDimKey::disputed},
           .layers = {.pattern = {.interval = 2,
                                  .full = FullLayer::first,
                                  .other_type = "linear_attention"}},
           .note = "some layers are linear attention; implementations disagree on rotary_dim"},
    // bamba/configuration_bamba.py: the fraction 0.5 is fixed in code.
    Family{.model_type = "bamba",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction, .fraction = 0.5, .key = ""},
           .layers = {.pattern = none_attends},
           .note = "only the layers of attn_layer_indices have attention"},
    // zamba2/configuration_zamba2.py: a head has 2 * hidden_size / num_attention_heads features.
    Family{
        .model_type = "zamba2",
        .choice = {"use_mem_rope", LayerEncoding::rotary, LayerEncoding::none, LayerEncoding::none},
        .base = {10000},
        .head = {.multiple = 2},
        .layers = {.pattern = listed},
        .keys = {.head_dim = "attention_head_dim"},
        .note = "only hybrid layers have attention; they rotate if use_mem_rope"},
    // recurrent_gemma/configuration_recurrent_gemma.py: block_types is repeated over the layers.
    Family{.model_type = "recurrent_gemma",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction, .fraction = 0.5},
           .rope = {.scales = false},
           .layers = {.pattern = {.interval = 3,
                                  .full_type = "sliding_attention",
                                  .other_type = "linear_attention"}},
           .note = "two layers of three have no attention"},
    // kimi_linear/modeling_kimi_linear.py: multi-head latent attention without rotation.
    Family{.model_type = "kimi_linear",
           .encoding = LayerEncoding::none,
           .layers = {.pattern = listed},
           .note = "attention without positions among layers of linear attention"},
    Family{.model_type = "glm5_next_text",
           .encoding = LayerEncoding::none,
           .layers = {.pattern = {.interval = 4,
                                  .full_type = "indexed_attention",
                                  .other_type = "linear_attention",
                                  .alias_of_full = "indexed_attention"}},
           .note = "attention without positions among layers of linear attention"},
    Family{.model_type = "jamba nemotron_h",
           .encoding = LayerEncoding::none,
           .layers = {.pattern = listed},
           .note = "attention without positions among Mamba layers"},
    Family{.model_type = "zamba",
           .encoding = LayerEncoding::none,
           .layers = {.pattern = listed},
           .note = "attention without positions, only in hybrid layers"},
    Family{.model_type = "rwkv mamba mamba2 falcon_mamba", .encoding = LayerEncoding::no_attention},
};

}  // namespace

std::span<const Family> layered_families() { return row_for_each_word<layered_rows>; }

}  // namespace rotary
