// SPDX-License-Identifier: Apache-2.0
// The rope dictionaries of a config, for all layers or for each layer type. They are converted to
// the form of Transformers 5, in which each dictionary states its base.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/families.hpp"
#include "model/json/json.hpp"
#include "model/json/reader.hpp"

namespace rotary {

struct LayerTypeRope {
  std::optional<std::string> layer_type;       // absent: all layers
  Json dictionary;                             // an object
  std::string path;                            // as in Reader
  std::vector<std::int64_t> sections = {};     // mrope_section
  std::optional<bool> interleaves = {};        // mrope_interleaved
  double llama_4_scaling_beta = 0;             // 0: no query temperature
  Origin origin = Origin::stated;              // of the dictionary's keys
  std::vector<std::string_view> assumed = {};  // keys with the class's value
  std::string_view base_key = "rope_theta";    // the key that states the base

  // Origin::class_default if the dictionary lacks the key or has the class's value.
  [[nodiscard]] Origin origin_of(std::string_view key) const {
    const bool is_assumed = dictionary.find(key) == nullptr ||
                            std::find(assumed.begin(), assumed.end(), key) != assumed.end();
    return is_assumed ? Origin::class_default : origin;
  }
};

struct RopeLayout {
  std::vector<LayerTypeRope> ropes;   // at least one
  std::vector<std::size_t> of_layer;  // index into ropes; empty if the layers are unknown
  bool is_nested = false;             // false: one dictionary, to which keys beside it may add
};

// layer_types: the type of each layer, or empty. After an error the layout is incomplete.
[[nodiscard]] RopeLayout read_rope_layout(Reader& config, const Family& family,
                                          const std::vector<std::string>& layer_types);

}  // namespace rotary
