// SPDX-License-Identifier: Apache-2.0
// What a config says beside its rope dictionary, under the names that its family uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/config_json.hpp"
#include "model/families.hpp"
#include "model/rope_parameters.hpp"
#include "rotary/result.hpp"

namespace rotary {

// One rope dictionary, with the layers that it is for.
struct LayerTypeRope {
  std::optional<std::string> layer_type;  // absent: all layers
  ConfigObject dictionary;
  RopeContext context;
};

struct ModelConfig {
  Family family;
  std::int64_t head_dim = 0;
  std::optional<std::int64_t> layers;
  std::optional<std::int64_t> max_position_embeddings;
  std::optional<double> rope_theta;
  std::optional<double> partial_rotary_factor;
  std::optional<std::int64_t> rotary_dim;
  std::vector<std::string> layer_types;  // as many as layers, when the config has them
  std::vector<LayerTypeRope> ropes;      // at least one; they refer to the config's JSON
  std::vector<std::string> warnings;
};

// Whether a word of the key (between underscores) begins like one of rotary embedding's:
// rope_theta, no_rope_layers, mrope_section, attn_rotary_emb; not "properties".
[[nodiscard]] bool speaks_of_rope(std::string_view key);

// Refuses keys that speak of rope or rotary and are not known; warns about known ones that the
// family does not read.
[[nodiscard]] Result<ModelConfig> read_model_config(const ConfigObject& config,
                                                    const Family& family);

}  // namespace rotary
