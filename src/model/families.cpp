// SPDX-License-Identifier: Apache-2.0
#include "model/families.hpp"

#include <algorithm>
#include <array>

namespace rotary {
namespace {

constexpr std::array families = {
    // llama/modeling_llama.py: compute_default_rope_parameters does not read the fraction; the
    // scaled
    // rules of modeling_rope_utils.py do. The same for mistral and qwen2.
    Family{.model_type = "llama", .pairing = Pairing::half, .base = 10000},
    Family{.model_type = "mistral", .pairing = Pairing::half, .base = 10000},
    Family{.model_type = "qwen2", .pairing = Pairing::half, .base = 10000},
    // gpt_neox/configuration_gpt_neox.py: rotary_pct 0.25, rotary_emb_base 10000; outside the
    // dictionary it reads no other names.
    Family{.model_type = "gpt_neox",
           .pairing = Pairing::half,
           .base = 10000,
           .base_key = "rotary_emb_base",
           .fraction_key = "rotary_pct",
           .fraction = 0.25,
           .partial = PartialRotary::fraction},
    // gptj/modeling_gptj.py: create_sinusoidal_positions has the base 10000 in its code.
    Family{.model_type = "gptj",
           .pairing = Pairing::interleaved,
           .base = 10000,
           .rotary_dim = 64,
           .partial = PartialRotary::dimension,
           .reads_head_dim = false,
           .reads_rope_parameters = false,
           .keys = {.hidden_size = "n_embd",
                    .heads = "n_head",
                    .layers = "n_layer",
                    .positions = "n_positions"}},
};

}  // namespace

const Family* find_family(std::string_view model_type) {
  const auto* const found = std::find_if(families.begin(), families.end(), [&](const Family& each) {
    return each.model_type == model_type;
  });
  return found == families.end() ? nullptr : found;
}

Family unknown_family(Pairing pairing) {
  return {.model_type = "",
          .pairing = pairing,
          .base = std::nullopt,
          .other_base_key = "rotary_emb_base",
          .other_fraction_key = "rotary_pct",
          .partial = PartialRotary::fraction};
}

std::string known_families() {
  std::string names;
  for (const Family& each : families)
    names.append(names.empty() ? "" : ", ").append(each.model_type);
  return names;
}

}  // namespace rotary
