// SPDX-License-Identifier: Apache-2.0
#include "model/other_names.hpp"

#include <algorithm>
#include <array>

#include "base/message.hpp"
#include "model/json/config_json.hpp"
#include "model/words.hpp"

namespace rotary {
namespace {

struct OtherNames {
  std::string_view key;
  std::string_view names;
};

// Names in families/ and in configs of models with their own code.
constexpr std::array other_names = {
    OtherNames{"hidden_size", "d_model n_embd dim model_dim embed_dim hidden_dim"},
    OtherNames{"num_attention_heads", "n_heads n_head num_heads attention_heads"},
    OtherNames{"head_dim", "kv_channels d_head head_size dim_head attention_head_dim"},
    OtherNames{"num_hidden_layers", "n_layers n_layer num_layers"},
    OtherNames{"max_position_embeddings",
               "max_sequence_length max_seq_len seq_length n_positions n_ctx"},
    OtherNames{"rope_theta",
               "rope_base rotary_base rope_freq_base rotary_embedding_base rope_embedding_base"},
    OtherNames{"partial_rotary_factor", "rotary_percent rope_pct rope_percent"},
};

}  // namespace

std::string other_names_in(const Reader& config, std::span<const std::string_view> keys) {
  std::string options;
  for (const auto& [key, names] : other_names) {
    if (std::ranges::find(keys, key) == keys.end() || config.find(key) != nullptr) continue;
    for_each_word(names, [&, key = key](std::string_view name) {
      if (config.find(name) != nullptr)
        options += message(" --key ", key, "=", config.path(), name);
    });
  }
  return options.empty() ? options : message("; in the tool add", options, ", if it means that");
}

std::string way_round(const Reader& config, std::string_view name) {
  const auto* const found = std::ranges::find_if(
      other_names, [&](const OtherNames& each) { return has_word(each.names, name); });
  if (found != other_names.end() && config.find(found->key) == nullptr)
    return other_names_in(config, {&found->key, 1});
  return message(". If it changes neither q nor k, set it to null (in the tool --set ",
                 config.path(), shorten(name), "=null)");
}

}  // namespace rotary
