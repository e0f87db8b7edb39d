// SPDX-License-Identifier: Apache-2.0
// The rope dictionaries of a config: one for all layers, or one for each kind of layer, brought
// from every older form into that of Transformers 5, where each says its base.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/families.hpp"
#include "model/json/config_json.hpp"
#include "rotary/result.hpp"

namespace rotary {

struct LayerTypeRope {
  std::optional<std::string> layer_type;  // absent: all layers
  Json dictionary;                        // what the rule reads; an object
  std::string path;                       // as in ConfigObject
  std::vector<std::int64_t> sections;     // mrope_section
  double llama_4_scaling_beta = 0;        // 0: queries do not grow
};

struct RopeLayout {
  std::vector<LayerTypeRope> ropes;   // at least one
  std::vector<std::size_t> of_layer;  // index into ropes; empty when the layers are not known
  bool is_nested = false;             // false: one dictionary, to which keys beside it may add
};

// layer_types: one for each layer, or empty.
[[nodiscard]] Result<RopeLayout> read_rope_layout(const ConfigObject& config, const Family& family,
                                                  const std::vector<std::string>& layer_types,
                                                  std::vector<std::string>& warnings);

}  // namespace rotary
