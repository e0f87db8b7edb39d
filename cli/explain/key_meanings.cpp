// SPDX-License-Identifier: Apache-2.0
// The parameters of scaling rules have their meaning beside the rules (rotary/config_scaling.hpp);
// here are the other keys.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/explain/explain_config.hpp"
#include "rotary/scaling.hpp"

namespace rotary::cli::explain {
namespace {

struct Meaning {
  std::string_view keys;  // with a blank between them
  std::string_view meaning;
};

constexpr auto meanings = std::to_array<Meaning>({
    {"model_type", "the family: its code decides the pairing and what is not written here"},
    {"architectures", "the model's class; positions follow model_type"},
    // Sizes.
    {"hidden_size d_model n_embd dim", "features of a token; head_dim is this / number of heads"},
    {"num_attention_heads n_head n_heads num_heads",
     "query heads; head_dim is the model's width / this"},
    {"num_key_value_heads n_kv_heads",
     "key and value heads; several queries share one, rotation does not"},
    {"multi_query", "all queries share one key head; the rotation is the same"},
    {"num_hidden_layers num_layers n_layer n_layers decoder_layers encoder_layers",
     "how many layers there are"},
    {"max_position_embeddings max_seq_len max_sequence_length n_ctx n_positions seq_length",
     "the longest context it was trained or tuned for, in tokens"},
    {"max_source_positions", "how many positions the encoder has a vector for"},
    {"initial_context_length", "the context before stretching, which the rule measures by"},
    // Heads.
    {"head_dim", "features of a head; d of base^(-2i/d), unless only a part turns"},
    {"attention_head_dim d_kv kv_channels", "features of a head"},
    {"global_head_dim", "head_dim of the layers that see everything"},
    {"rotary_dim", "features of a head that turn; the rest has no position"},
    {"partial_rotary_factor rotary_pct", "which part of a head turns; the rest has no position"},
    {"qk_rope_head_dim", "features of a query head that turn (latent attention)"},
    {"qk_nope_head_dim", "features of a query head that do not turn (latent attention)"},
    // How positions enter.
    {"position_embedding_type", "how positions enter: rope, alibi, absolute, ..."},
    {"pos_emb", "how positions enter"},
    {"rotary use_rotary_pos_emb", "false: positions do not turn"},
    {"alibi", "true: linear biases on scores in place of a rotation"},
    {"attn_config", "what concerns attention"},
    {"new_decoder_architecture", "Falcon: chooses what follows from other keys"},
    // The rotation.
    {"rope_theta rotary_emb_base", "the base: pair i turns by base^(-2i/d) radians a token"},
    {"rope_local_base_freq", "the base of layers with local attention"},
    {"compress_rope_theta", "the base of layers with compressed keys"},
    {"rope_interleaved", "true: neighbours are a pair"},
    {"rope_parameters", "what concerns the rotation"},
    {"rope_scaling rope_type type", "how frequencies are stretched beyond the context trained on"},
    {"use_scaled_rope", "Llama 3.1's stretching of frequencies"},
    {"original_rope", "false would be another rotation, which is refused"},
    {"alpha", "NTK: the base times alpha^(d/(d-2))"},
    {"mscale_all_dim", "YaRN: what mscale is divided by; in DeepSeek also the softmax scale"},
    {"truncate", "YaRN: whether the ends of its ramp are rounded to whole pairs"},
    {"mrope_section", "how many pairs follow time, height and width; in text all are one number"},
    {"mrope_interleaved", "in which order the axes of an image share the pairs"},
    {"xdrope_section", "pairs for each of several axes; refused where it is given"},
    {"position_embedding_xdrope", "true would be a rotation by several axes, which is refused"},
    {"use_dynamic_ntk", "Qwen: beyond its context the base would change with the length"},
    // Queries.
    {"use_logn_attn", "Qwen: queries grow with log(position) beyond the trained context"},
    {"llama_4_scaling_beta", "queries grow with the logarithm of their position, so strongly"},
    // Layers.
    {"layer_types", "what kind of attention each layer has; kinds may turn differently"},
    {"no_rope_layers", "which layers turn (1) and which have no position (0)"},
    {"attn_type_list", "which layers have softmax attention, and with it positions"},
    {"full_attention_interval", "every so many layers one has full attention, and positions"},
    {"sliding_window attention_chunk_size",
     "how far back a layer of local attention looks, in tokens"},
    {"sliding_window_pattern", "which layers look at a window alone"},
    {"compress_ratios", "which layers attend to compressed keys, and by how much"},
    {"cross_attention_layers", "which layers attend to an image, without positions"},
});

// Whether name is one of the words.
bool has_word(std::string_view words, std::string_view name) noexcept {
  while (!words.empty()) {
    const std::string_view word = words.substr(0, words.find(' '));
    if (word == name) return true;
    words.remove_prefix(word.size() + (word.size() < words.size() ? 1 : 0));
  }
  return false;
}

// The first rule that has a parameter of this name says it; with the rule's name where no other has
// such a parameter.
std::string meaning_of_parameter(std::string_view name) {
  std::string meaning;
  std::vector<std::string_view> rules;
  for (const std::string_view rule : rope_types()) {
    const std::optional<Scaling> scaling = scaling_named(rule);
    for_each_parameter(*scaling, [&](const ParameterFacts& facts, const auto&) {
      if (facts.name != name) return;
      if (meaning.empty()) meaning = facts.meaning;
      rules.push_back(rule);
    });
  }
  return rules.size() == 1 ? fmt::format("{}: {}", rules.front(), meaning) : meaning;
}

}  // namespace

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> names;
  for (const auto& [keys, meaning] : meanings) {
    for (std::string_view rest = keys; !rest.empty();) {
      names.push_back(rest.substr(0, rest.find(' ')));
      rest.remove_prefix(std::min(names.back().size() + 1, rest.size()));
    }
  }
  return names;
}

std::string meaning_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('.') + 1);  // npos + 1 is 0
  for (const auto& [keys, meaning] : meanings) {
    if (has_word(keys, name)) return std::string(meaning);
  }
  return meaning_of_parameter(name);
}

}  // namespace rotary::cli::explain
