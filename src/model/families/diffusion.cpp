// SPDX-License-Identifier: Apache-2.0
// Diffusion transformers of Diffusers 0.42, by _class_name in transformer/config.json. Each axis
// has its own exponents, and its pairs form a block. Other classes are refused by name.
#include <algorithm>
#include <array>

#include "model/families.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

constexpr ConfigKeys dit_keys = {.layers = "num_layers", .head_dim = "attention_head_dim"};
constexpr ConfigKeys keys_of_two_kinds = {
    .layers = "num_layers", .more_layers = "num_single_layers", .head_dim = "attention_head_dim"};
constexpr ConfigKeys wan_keys = {
    .layers = "num_layers", .positions = "rope_max_seq_len", .head_dim = "attention_head_dim"};

constexpr AxesForm dims_listed(const std::array<std::int64_t, 4>& otherwise) {
  return {.given_by = AxisShares::features,
          .key = "axes_dims_rope",
          .otherwise = otherwise,
          .exponents = AxisExponents::own};
}

// apply_rotary_emb of diffusers/models/embeddings.py rounds the float32 result only.
constexpr std::array diffusion_rows = {
    // transformer_flux.py: FluxPosEmbed.
    Family{.model_type = "FluxTransformer2DModel",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .rounding = Rounding::result,
           .head = {.dim = 128},
           .rope = {.is_read = false},
           .axes = dims_listed({16, 56, 56}),
           .keys = keys_of_two_kinds,
           .note = "(0, row, column) of an image; text is at (0, 0, 0)",
           .source = "diffusers/transformer_flux.py"},
    // transformer_flux2.py: Flux2PosEmbed.
    Family{.model_type = "Flux2Transformer2DModel",
           .pairing = Pairing::interleaved,
           .base = {2000},
           .rounding = Rounding::result,
           .head = {.dim = 128},
           .axes = dims_listed({32, 32, 32, 32}),
           .keys = keys_of_two_kinds,
           .note = "(time, row, column, token of the text)",
           .source = "diffusers/transformer_flux2.py"},
    // transformer_qwenimage.py: QwenEmbedRope, apply_rotary_emb_qwen.
    Family{.model_type = "QwenImageTransformer2DModel",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .rounding = Rounding::result,
           .head = {.dim = 128},
           .rope = {.is_read = false},
           .axes = dims_listed({16, 56, 56}),
           .keys = dit_keys,
           .note = "(image, row, column) around the image's centre; text follows on all axes",
           .source = "diffusers/transformer_qwenimage.py"},
    // transformer_wan.py: WanRotaryPosEmbed.
    Family{.model_type = "WanTransformer3DModel",
           .pairing = Pairing::interleaved,
           .base = {10000},
           .rounding = Rounding::result,
           .head = {.dim = 128},
           .rope = {.is_read = false},
           .axes = {.given_by = AxisShares::thirds, .exponents = AxisExponents::own},
           .keys = wan_keys,
           .note = "(time, row, column) of patches; cross attention does not rotate",
           .source = "diffusers/transformer_wan.py"},
};

struct Refusal {
  std::string_view model_types;
  std::string_view needs;
};

// Refused classes, and what each needs in order to be supported. The classes from inkling2_loop on
// are in Transformers.
constexpr std::array refusals = {
    Refusal{"AllegroTransformer3DModel CogVideoXTransformer3DModel CogView4Transformer2DModel "
            "EasyAnimateTransformer3DModel",
            "positions between integers, which its pipeline computes"},
    Refusal{"AnyFlowTransformer3DModel AnyFlowFARTransformer3DModel BriaTransformer2DModel "
            "BriaFiboTransformer2DModel ChromaTransformer2DModel Flux3Transformer2DModel "
            "GlmImageTransformer2DModel HeliosTransformer3DModel HiDreamImageTransformer2DModel "
            "HunyuanImageTransformer2DModel HunyuanVideoTransformer3DModel "
            "HunyuanVideo15Transformer3DModel Ideogram4Transformer2DModel "
            "Krea2Transformer2DModel LongCatAudioDiTTransformer LongCatImageTransformer2DModel "
            "Lumina2Transformer2DModel MiniMaxH3Transformer3DModel "
            "MiniMaxMusic3Transformer1DModel MotifVideoTransformer3DModel "
            "NucleusMoEImageTransformer2DModel OvisImageTransformer2DModel "
            "SanaVideoTransformer3DModel SkyReelsV2Transformer3DModel StableAudioDiTModel "
            "StableAudio3DiTModel WanAnimateTransformer3DModel WanVACETransformer3DModel "
            "ZImageTransformer2DModel",
            "a row in src/model/families/diffusion.cpp, compared with its class"},
    Refusal{"ChronoEditTransformer3DModel", "times that skip frames, as its class has them"},
    Refusal{"CosmosTransformer3DModel", "a base for each axis, from rope_scale, and times by fps"},
    Refusal{"Cosmos3OmniTransformer", "times by fps, between integers"},
    Refusal{"HunyuanVideoFramepackTransformer3DModel", "positions averaged over packed frames"},
    Refusal{"Kandinsky5Transformer3DModel", "a scale for each axis, which its pipeline gives"},
    Refusal{"LTXVideoTransformer3DModel LTX2VideoTransformer3DModel",
            "a rotation of all heads' features at once, with exponents that reach their end"},
    Refusal{"MochiTransformer3DModel",
            "learned frequencies: pass its pos_frequencies to make_frequencies with dense axes"},
    Refusal{"OmniGenTransformer2DModel", "LongRope's factors of its language model"},
    Refusal{"SD3Transformer2DModel",
            "no rotation: it adds a table of sines of two axes, cropped from the centre"},
    Refusal{"inkling2_loop inkling2_loop_text",
            "a bias of the distance for each query, from its own states"},
    Refusal{"omniasr_audio omniasr_ctc wavtokenizer wavtokenizer_encoder",
            "no rotation: convolutions alone say the position"},
    Refusal{"efficientloftr",
            "coordinates of averaged cells of its feature maps, and no head: all channels rotate "
            "before they are cut"},
    Refusal{"vjepa2",
            "two angles for each pair: its class repeats cosines and sines in another order than "
            "the features that it turns, which is no rotation: vjepa2_two_angles of "
            "rotary/position_maps.hpp makes these rows"},
};

}  // namespace

std::span<const Family> diffusion_families() { return diffusion_rows; }

std::string_view reason_to_refuse(std::string_view model_type) {
  const auto* const found = std::ranges::find_if(
      refusals, [&](const Refusal& each) { return has_word(each.model_types, model_type); });
  return found == refusals.end() ? std::string_view() : found->needs;
}

}  // namespace rotary
