// SPDX-License-Identifier: Apache-2.0
// The words are ours; what each key does in numbers comes from resolve() (config_keys.hpp).
#include "cli/explain/key_meanings.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace rotary::cli::explain {
namespace {

using Meaning = std::pair<std::string_view, std::string_view>;

constexpr std::string_view width_text = "features of a token; head_dim is this / number of heads";
constexpr std::string_view heads_text = "query heads; head_dim is the model's width / this";
constexpr std::string_view layers_text = "how many layers there are";
constexpr std::string_view context_text =
    "the longest context it was trained or tuned for, in tokens";
constexpr std::string_view base_text = "the base: pair i turns by base^(-2i/d) radians a token";
constexpr std::string_view fraction_text = "which part of a head turns; the rest has no position";
constexpr std::string_view rule_text =
    "how frequencies are stretched beyond the context trained on";
constexpr std::string_view original_text =
    "the context before stretching, which the rule measures by";
constexpr std::string_view window_text = "how far back a layer of local attention looks, in tokens";
constexpr std::string_view window_layers_text = "which layers look at a window alone";
constexpr std::string_view kv_heads_text =
    "key and value heads; several queries share one, rotation does not";

// Sorted by name.
constexpr auto meanings = std::to_array<Meaning>({
    {"alibi", "true: linear biases on scores in place of a rotation"},
    {"alpha", "NTK: the base times alpha^(d/(d-2))"},
    {"architectures", "the model's class; positions follow model_type"},
    {"attention_chunk_size", window_text},
    {"attention_factor",
     "A: multiplies cos and sin, so that what turned features add to scores grows by A^2"},
    {"attention_head_dim", "features of a head"},
    {"attn_config", "what concerns attention"},
    {"attn_type_list", "which layers have softmax attention, and with it positions"},
    {"beta_fast", "YaRN: pairs with more turns in the original context stay as they are"},
    {"beta_slow", "YaRN: pairs with fewer turns are slowed by the whole factor"},
    {"compress_ratios", "which layers attend to compressed keys, and by how much"},
    {"compress_rope_theta", "the base of layers with compressed keys"},
    {"cross_attention_layers", "which layers attend to an image, without positions"},
    {"d_kv", "features of a head"},
    {"d_model", width_text},
    {"decoder_layers", layers_text},
    {"dim", width_text},
    {"encoder_layers", layers_text},
    {"factor", "by how much the context is stretched: the slowest pairs turn so much slower"},
    {"full_attention_interval", "every so many layers one has full attention, and positions"},
    {"global_head_dim", "head_dim of the layers that see everything"},
    {"head_dim", "features of a head; d of base^(-2i/d), unless only a part turns"},
    {"hidden_size", width_text},
    {"high_freq_factor", "Llama 3: pairs with shorter waves than original / this stay as they are"},
    {"initial_context_length", original_text},
    {"kv_channels", "features of a head"},
    {"layer_types", "what kind of attention each layer has; kinds may turn differently"},
    {"llama_4_scaling_beta", "queries grow with the logarithm of their position, so strongly"},
    {"long_factor", "LongRoPE: what divides each pair's frequency beyond the original context"},
    {"low_freq_factor",
     "Llama 3: pairs with longer waves than original / this are slowed by factor"},
    {"max_position_embeddings", context_text},
    {"max_seq_len", context_text},
    {"max_sequence_length", context_text},
    {"max_source_positions", "how many positions the encoder has a vector for"},
    {"model_type", "the family: its code decides the pairing and what is not written here"},
    {"mrope_interleaved", "in which order the axes of an image share the pairs"},
    {"mrope_section", "how many pairs follow time, height and width; in text all are one number"},
    {"mscale", "YaRN: how strongly scores grow with the factor"},
    {"mscale_all_dim", "YaRN: what mscale is divided by; in DeepSeek also the softmax scale"},
    {"multi_query", "all queries share one key head; the rotation is the same"},
    {"n_ctx", context_text},
    {"n_embd", width_text},
    {"n_head", heads_text},
    {"n_heads", heads_text},
    {"n_kv_heads", kv_heads_text},
    {"n_layer", layers_text},
    {"n_layers", layers_text},
    {"n_positions", context_text},
    {"new_decoder_architecture", "Falcon: chooses what follows from other keys"},
    {"no_rope_layers", "which layers turn (1) and which have no position (0)"},
    {"num_attention_heads", heads_text},
    {"num_heads", heads_text},
    {"num_hidden_layers", layers_text},
    {"num_key_value_heads", kv_heads_text},
    {"num_layers", layers_text},
    {"original_max_position_embeddings", original_text},
    {"original_rope", "false would be another rotation, which is refused"},
    {"partial_rotary_factor", fraction_text},
    {"pos_emb", "how positions enter"},
    {"position_embedding_type", "how positions enter: rope, alibi, absolute, ..."},
    {"position_embedding_xdrope", "true would be a rotation by several axes, which is refused"},
    {"qk_nope_head_dim", "features of a query head that do not turn (latent attention)"},
    {"qk_rope_head_dim", "features of a query head that turn (latent attention)"},
    {"rope_interleaved", "true: neighbours are a pair"},
    {"rope_local_base_freq", "the base of layers with local attention"},
    {"rope_parameters", "what concerns the rotation"},
    {"rope_scaling", rule_text},
    {"rope_theta", base_text},
    {"rope_type", rule_text},
    {"rotary", "false: positions do not turn"},
    {"rotary_dim", "features of a head that turn; the rest has no position"},
    {"rotary_emb_base", base_text},
    {"rotary_pct", fraction_text},
    {"seq_length", context_text},
    {"short_factor", "LongRoPE: what divides each pair's frequency within the original context"},
    {"sliding_window", window_text},
    {"sliding_window_pattern", window_layers_text},
    {"truncate", "YaRN: whether the ends of its ramp are rounded to whole pairs"},
    {"type", rule_text},
    {"use_dynamic_ntk", "Qwen: beyond its context the base would change with the length"},
    {"use_logn_attn", "Qwen: queries grow with log(position) beyond the trained context"},
    {"use_rotary_pos_emb", "false: positions do not turn"},
    {"use_scaled_rope", "Llama 3.1's stretching of frequencies"},
    {"xdrope_section", "pairs for each of several axes; refused where it is given"},
});
static_assert(std::ranges::is_sorted(meanings, {}, &Meaning::first));

}  // namespace

std::string_view meaning_of(std::string_view path) noexcept {
  const auto dot = path.rfind('.');
  const std::string_view name = dot == std::string_view::npos ? path : path.substr(dot + 1);
  const auto* const found = std::ranges::lower_bound(meanings, name, {}, &Meaning::first);
  return found != meanings.end() && found->first == name ? found->second : std::string_view{};
}

}  // namespace rotary::cli::explain
