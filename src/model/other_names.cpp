// SPDX-License-Identifier: Apache-2.0
#include "model/other_names.hpp"

#include <algorithm>
#include <array>

#include "base/message.hpp"
#include "model/json/config_json.hpp"

namespace rotary {
namespace {

struct OtherName {
  std::string_view key;
  std::string_view name;
};

// Names that families in families/ use, and configs that came with their own code.
constexpr std::array other_names = {
    OtherName{"hidden_size", "d_model"},
    OtherName{"hidden_size", "n_embd"},
    OtherName{"hidden_size", "dim"},
    OtherName{"hidden_size", "model_dim"},
    OtherName{"hidden_size", "embed_dim"},
    OtherName{"hidden_size", "hidden_dim"},
    OtherName{"num_attention_heads", "n_heads"},
    OtherName{"num_attention_heads", "n_head"},
    OtherName{"num_attention_heads", "num_heads"},
    OtherName{"num_attention_heads", "attention_heads"},
    OtherName{"head_dim", "kv_channels"},
    OtherName{"head_dim", "d_head"},
    OtherName{"head_dim", "head_size"},
    OtherName{"head_dim", "dim_head"},
    OtherName{"head_dim", "attention_head_dim"},
    OtherName{"num_hidden_layers", "n_layers"},
    OtherName{"num_hidden_layers", "n_layer"},
    OtherName{"num_hidden_layers", "num_layers"},
    OtherName{"max_position_embeddings", "max_sequence_length"},
    OtherName{"max_position_embeddings", "max_seq_len"},
    OtherName{"max_position_embeddings", "seq_length"},
    OtherName{"max_position_embeddings", "n_positions"},
    OtherName{"max_position_embeddings", "n_ctx"},
    OtherName{"rope_theta", "rope_base"},
    OtherName{"rope_theta", "rotary_base"},
    OtherName{"rope_theta", "rope_freq_base"},
    OtherName{"rope_theta", "rotary_embedding_base"},
    OtherName{"rope_theta", "rope_embedding_base"},
    OtherName{"partial_rotary_factor", "rotary_percent"},
    OtherName{"partial_rotary_factor", "rope_pct"},
    OtherName{"partial_rotary_factor", "rope_percent"},
};

}  // namespace

std::string other_names_in(const Reader& config, std::span<const std::string_view> keys) {
  std::string options;
  for (const OtherName& each : other_names) {
    const bool is_wanted = std::ranges::find(keys, each.key) != keys.end();
    if (is_wanted && config.find(each.key) == nullptr && config.find(each.name) != nullptr)
      options += message(" --key ", each.key, "=", config.path(), each.name);
  }
  return options.empty() ? options : message("; in the tool add", options, ", if it means that");
}

std::string way_round(const Reader& config, std::string_view name) {
  const auto found = std::ranges::find(other_names, name, &OtherName::name);
  if (found != other_names.end() && config.find(found->key) == nullptr)
    return other_names_in(config, {&found->key, 1});
  return message(". If it changes neither q nor k, set it to null (in the tool --set ",
                 config.path(), shorten(name), "=null)");
}

}  // namespace rotary
