// SPDX-License-Identifier: Apache-2.0
// Reads rope parameters in forms other than a dictionary for each layer type.
#pragma once

#include <string>
#include <vector>

#include "model/json/reader.hpp"
#include "model/rope/rope_layout.hpp"

namespace rotary {

// Step-3.5: rope_theta and partial_rotary_factors are lists with an entry for each layer;
// rope_scaling is for full layers. Returns a dictionary for each layer type; empty if neither key
// is a list or `dictionary` is already nested.
[[nodiscard]] Json expand_lists(Reader& config, const Json& dictionary,
                                const std::vector<std::string>& layer_types);

struct Labelled {
  Json dictionaries;
  std::vector<std::string> of_layer;  // label of each layer
  bool are_stated = true;             // the config states the dictionaries
  bool assumes_factor = false;        // the class sets the attention_factor of compress
};

// DeepSeek-V4: "main" for sliding layers, without scaling; "compress" for the others, with
// compress_rope_theta and the scaling rule, whose attention factor is 1 by default.
[[nodiscard]] Labelled main_and_compress(Reader& config, const Json& dictionary,
                                         const std::vector<std::string>& layer_types);

// Molmo 2: layers outside the list under this key keep the dictionary's base without scaling.
void split_scaled_layers(Reader& config, std::string_view key, RopeLayout& layout);

// Configs with layer_rope_theta: makes one dictionary for each base other than 0.
[[nodiscard]] RopeLayout layer_bases(Reader& config, const Json& dictionary,
                                     const std::string& path);

}  // namespace rotary
