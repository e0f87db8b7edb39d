// SPDX-License-Identifier: Apache-2.0
// Families whose layer types have different bases or fractions. The defaults of rope_parameters are
// from configuration_*.py.
#include <array>

#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr LayerPattern every_sixth_full = {.interval_key = "sliding_window_pattern", .interval = 6};

// Trained contexts come from the classes (Gemma3TextConfig), because configs of Gemma lack them.
constexpr Family gemma3(std::string_view model_type) {
  return {.model_type = model_type,
          .head = {.dim = 256},
          .rope = {.two_bases = TwoBases{.full_key = "rope_theta",
                                         .full = 1e6,
                                         .sliding_key = "rope_local_base_freq",
                                         .sliding = 10000}},
          .layers = {.pattern = every_sixth_full},
          .trained_context = 131072,
          .note = "sliding layers have the base 10000 and no scaling"};
}

constexpr Family gemma3n() {
  Family family = gemma3("gemma3n_text");
  family.layers.pattern = {.interval = 5};
  family.trained_context = 32768;
  return family;
}

// modernbert/modeling_modernbert.py: only q and k are float32.
constexpr Family modernbert(std::string_view model_type) {
  return {.model_type = model_type,
          .rounding = Rounding::table,
          .rope = {.two_bases = TwoBases{.full_key = "global_rope_theta",
                                         .full = 160000,
                                         .sliding_key = "local_rope_theta",
                                         .sliding = 10000,
                                         .scaled = ScaledLayers::all,
                                         .flat = FlatParameters::refused}},
          .layers = {.pattern = {.interval_key = "global_attn_every_n_layers",
                                 .interval = 3,
                                 .full = FullLayer::first}},
          .note = "global and local layers have different bases"};
}

constexpr std::string_view gemma4_rope =
    R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                           "rope_theta": 1000000.0}})";

constexpr Family gemma4(std::string_view model_type, std::int64_t trained_context) {
  return {.model_type = model_type,
          .base = {10000},
          .head = {.dim = 256, .full_dim_key = "global_head_dim", .full_dim = 512},
          .rope = {.otherwise = gemma4_rope},
          .layers = {.pattern = every_sixth_full},
          .trained_context = trained_context,
          .note = "full layers have heads of global_head_dim features"};
}

constexpr std::string_view laguna_rope =
    R"({"full_attention": {"rope_type": "default", "rope_theta": 500000.0,
                           "partial_rotary_factor": 0.5},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0,
                              "partial_rotary_factor": 1.0}})";

constexpr std::string_view mellum_rope =
    R"({"full_attention": {"rope_type": "default", "rope_theta": 500000.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})";

constexpr std::string_view zaya_rope =
    R"({"hybrid": {"rope_type": "default", "rope_theta": 5000000.0, "partial_rotary_factor": 0.5},
        "hybrid_sliding": {"rope_type": "default", "rope_theta": 10000.0,
                           "partial_rotary_factor": 0.5}})";

constexpr Family per_type(std::string_view model_type, std::string_view rope,
                          std::string_view only_type) {
  return {.model_type = model_type,
          .base = {10000},
          .part = {.given_by = PartialRotary::fraction},
          .head = {.dim = 128},
          .rope = {.otherwise = rope},
          .layers = {.pattern = {.interval = 1, .full_type = only_type}},
          .note = "full and sliding layers have different bases and fractions"};
}

constexpr Family mellum() {
  Family family = per_type("mellum", mellum_rope, "full_attention");
  family.part.given_by = PartialRotary::fraction_if_scaled;
  return family;
}

constexpr std::string_view embedding_gemma2_rope =
    R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "default", "rope_theta": 1000000.0}})";

constexpr std::string_view lfm3_rope =
    R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0,
                           "partial_rotary_factor": 0.5}})";

constexpr std::string_view lfm3_type(std::int64_t layer, std::int64_t) {
  if (layer % 4 == 2) return "full_attention";
  return layer % 4 == 0 && layer > 0 ? "sliding_attention" : "conv";
}

constexpr std::string_view dory_rope =
    R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "default", "rope_theta": 10000000.0}})";

constexpr std::string_view mimo_rope =
    R"({"full_attention": {"rope_type": "default", "rope_theta": 5000000.0,
                           "partial_rotary_factor": 0.334},
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0,
                              "partial_rotary_factor": 0.334}})";

constexpr std::string_view neomme_rope =
    R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0,
                              "partial_rotary_factor": 1.0},
        "full_attention": {"rope_type": "default", "rope_theta": 1000000.0,
                           "partial_rotary_factor": 0.25}})";

constexpr std::string_view neomme_type(std::int64_t layer, std::int64_t layers) {
  return (layer + 1) % 6 == 0 || layer == layers - 1 ? "full_attention" : "sliding_attention";
}

constexpr std::string_view ultrabert_rope =
    R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {"rope_type": "default", "rope_theta": 2560000.0}})";

constexpr std::array two_bases_rows = {
    gemma3("gemma3_text"),
    gemma3n(),
    gemma3("t5gemma2_text t5gemma2_decoder"),
    gemma4("gemma4_text", 131072),
    gemma4("gemma4_unified_text", 262144),
    gemma4("diffusion_gemma_text", 131072),
    modernbert("modernbert modernbert-decoder"),
    Family{.model_type = "olmo3",
           .rounding = Rounding::result,
           .rope = {.two_bases = TwoBases{.full_key = "rope_theta",
                                          .full = 500000,
                                          .sliding_key = "",
                                          .sliding = 500000}},
           .layers = {.pattern = {.interval = 4}},
           .note = "only the full layers have the scaling and rope_theta"},
    // The model's own code reads rope_theta and swa_rope_theta.
    Family{.model_type = "mimo_v2_flash",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction, .fraction = 0.334},
           .head = {.dim = 192},
           .rope = {.otherwise = mimo_rope},
           .layers = {.pattern = {.interval = 6, .full = FullLayer::last_and_zero}},
           .note = "a third of the head rotates; sliding layers have the base 10000"},
    Family{.model_type = "embedding_gemma2_text",
           .base = {10000},
           .head = {.dim = 256, .full_dim_key = "global_head_dim", .full_dim = 512},
           .rope = {.otherwise = embedding_gemma2_rope},
           .layers = {.pattern = every_sixth_full},
           .trained_context = 262144,
           .note = "full layers have heads of global_head_dim features"},
    Family{
        .model_type = "lfm3",
        .base = {1e6},
        .rounding = Rounding::result,
        .head = {.dim = 128},
        .rope = {.otherwise = lfm3_rope},
        .layers = {.pattern = {.type_of = lfm3_type}},
        .note = "full layers rotate half of the head (proportional); some layers are convolutions"},
    // dory/configuration_dory.py: configs list each layer as two, attention and mlp.
    Family{.model_type = "dory",
           .base = {10000},
           .head = {.dim = 256},
           .rope = {.otherwise = dory_rope},
           .layers = {.pattern = {.interval = 4}},
           .note = "the layers between the first and the last 8 run twice"},
    // neomme/modeling_neomme.py: recomposition_frequencies; row and column are equal in text.
    Family{.model_type = "neomme",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction},
           .head = {.dim = 64},
           .rope = {.otherwise = neomme_rope, .fills_types = true},
           .axes = {.given_by = AxisShares::equal, .arrangement = AxisArrangement::interleaved},
           .layers = {.pattern = {.type_of = neomme_type}},
           .note = "pairs follow the row and the column of an image alternately"},
    Family{.model_type = "ultrabert",
           .base = {10000},
           .rope = {.labels = RopeLabels::per_layer_lists, .otherwise = ultrabert_rope},
           .layers = {.pattern = {.interval = 3}},
           .note = "rope_theta may be a list, one entry for each layer"},
    per_type("laguna", laguna_rope, "full_attention"),
    mellum(),
    per_type("zaya", zaya_rope, "hybrid"),
    Family{.model_type = "step3p5",
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction, .key = ""},
           .head = {.dim = 128},
           .rope = {.labels = RopeLabels::per_layer_lists},
           .note = "rope_theta and partial_rotary_factors may be lists, one entry for each layer",
           .source = "step3p7"},
    // deepseek_v4/modeling_deepseek_v4.py: the last features of a head are rotated; only cos, sin
    // and the result are rounded; the output of attention is rotated back.
    Family{.model_type = "deepseek_v4",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .part = {.given_by = PartialRotary::fraction,
                    .fraction = 0.125,
                    .window = Window::trailing},
           .rounding = Rounding::table,
           .head = {.dim = 512},
           .rope = {.labels = RopeLabels::main_and_compress},
           .layers = {.pattern = {.interval = 1, .full_type = "compressed_sparse_attention"}},
           .note = "the last 64 of 512 features rotate; the attention's output is rotated back"},
};

}  // namespace

std::span<const Family> two_base_families() { return row_for_each_word<two_bases_rows>; }

}  // namespace rotary
