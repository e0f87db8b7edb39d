// SPDX-License-Identifier: Apache-2.0
// Diffusion transformers, by _class_name of transformer/config.json of the library Diffusers 0.42:
// each axis has exponents of its own, in blocks, the first axis first. Others are refused by name.
#include <algorithm>
#include <array>

#include "model/families.hpp"

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

// Products in float32, rounded once: apply_rotary_emb of diffusers/models/embeddings.py.
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

constexpr std::string_view of_fractions = "positions between integers, which its pipeline computes";
constexpr std::string_view not_yet =
    "a row in src/model/families/diffusion.cpp, compared with its class";
constexpr std::string_view of_states = "a bias of the distance for each query, from its own states";
constexpr std::string_view of_convolutions = "no rotation: convolutions alone say the position";

// Where a class's numbers are, or what no spec says yet.
constexpr std::array refusals = {
    Refusal{"AllegroTransformer3DModel", of_fractions},
    Refusal{"AnyFlowTransformer3DModel", not_yet},
    Refusal{"AnyFlowFARTransformer3DModel", not_yet},
    Refusal{"BriaTransformer2DModel", not_yet},
    Refusal{"BriaFiboTransformer2DModel", not_yet},
    Refusal{"ChromaTransformer2DModel", not_yet},
    Refusal{"ChronoEditTransformer3DModel", "times that skip frames, as its class has them"},
    Refusal{"CogVideoXTransformer3DModel", of_fractions},
    Refusal{"CogView4Transformer2DModel", of_fractions},
    Refusal{"CosmosTransformer3DModel", "a base for each axis, from rope_scale, and times by fps"},
    Refusal{"Cosmos3OmniTransformer", "times by fps, between integers"},
    Refusal{"EasyAnimateTransformer3DModel", of_fractions},
    Refusal{"Flux3Transformer2DModel", not_yet},
    Refusal{"GlmImageTransformer2DModel", not_yet},
    Refusal{"HeliosTransformer3DModel", not_yet},
    Refusal{"HiDreamImageTransformer2DModel", not_yet},
    Refusal{"HunyuanImageTransformer2DModel", not_yet},
    Refusal{"HunyuanVideoTransformer3DModel", not_yet},
    Refusal{"HunyuanVideo15Transformer3DModel", not_yet},
    Refusal{"HunyuanVideoFramepackTransformer3DModel", "positions averaged over packed frames"},
    Refusal{"Ideogram4Transformer2DModel", not_yet},
    Refusal{"Kandinsky5Transformer3DModel", "a scale for each axis, which its pipeline gives"},
    Refusal{"Krea2Transformer2DModel", not_yet},
    Refusal{"LongCatAudioDiTTransformer", not_yet},
    Refusal{"LongCatImageTransformer2DModel", not_yet},
    Refusal{"LTXVideoTransformer3DModel",
            "a rotation of all heads' features at once, with exponents that reach their end"},
    Refusal{"LTX2VideoTransformer3DModel",
            "a rotation of all heads' features at once, with exponents that reach their end"},
    Refusal{"Lumina2Transformer2DModel", not_yet},
    Refusal{"MiniMaxH3Transformer3DModel", not_yet},
    Refusal{"MiniMaxMusic3Transformer1DModel", not_yet},
    Refusal{"MochiTransformer3DModel",
            "learned frequencies: pass its pos_frequencies to make_frequencies with dense axes"},
    Refusal{"MotifVideoTransformer3DModel", not_yet},
    Refusal{"NucleusMoEImageTransformer2DModel", not_yet},
    Refusal{"OmniGenTransformer2DModel", "LongRope's factors of its language model"},
    Refusal{"OvisImageTransformer2DModel", not_yet},
    Refusal{"SanaVideoTransformer3DModel", not_yet},
    Refusal{"SD3Transformer2DModel",
            "no rotation: it adds a table of sines of two axes, cropped from the centre"},
    Refusal{"SkyReelsV2Transformer3DModel", not_yet},
    Refusal{"StableAudioDiTModel", not_yet},
    Refusal{"StableAudio3DiTModel", not_yet},
    Refusal{"WanAnimateTransformer3DModel", not_yet},
    Refusal{"WanVACETransformer3DModel", not_yet},
    Refusal{"ZImageTransformer2DModel", not_yet},
    // These are in Transformers.
    Refusal{"inkling2_loop", of_states},
    Refusal{"inkling2_loop_text", of_states},
    Refusal{"omniasr_audio", of_convolutions},
    Refusal{"omniasr_ctc", of_convolutions},
    Refusal{"wavtokenizer", of_convolutions},
    Refusal{"wavtokenizer_encoder", of_convolutions},
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
  const auto* const found =
      std::find_if(refusals.begin(), refusals.end(),
                   [&](const Refusal& each) { return each.model_type == model_type; });
  return found == refusals.end() ? std::string_view() : found->needs;
}

}  // namespace rotary
