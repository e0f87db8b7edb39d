// SPDX-License-Identifier: Apache-2.0
// The rope dictionaries of a config, one for all layers or one for each layer type, converted from
// all older forms to that of Transformers 5, in which each dictionary states its base.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/families.hpp"
#include "model/json/json.hpp"
#include "model/json/reader.hpp"

namespace rotary {

struct LayerTypeRope {
  std::optional<std::string> layer_type;  // absent: all layers
  Json dictionary;                        // read by the rule; an object
  std::string path;                       // as in ConfigObject
  std::vector<std::int64_t> sections;     // mrope_section
  double llama_4_scaling_beta = 0;        // 0: queries do not grow
};

struct RopeLayout {
  std::vector<LayerTypeRope> ropes;   // at least one
  std::vector<std::size_t> of_layer;  // index into ropes; empty if the layers are unknown
  bool is_nested = false;             // false: one dictionary; keys beside it may add to it
};

// layer_types: one per layer, or empty. After an error the layout is incomplete.
[[nodiscard]] RopeLayout read_rope_layout(Reader& config, const Family& family,
                                          const std::vector<std::string>& layer_types);

}  // namespace rotary
