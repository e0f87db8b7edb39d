// SPDX-License-Identifier: Apache-2.0
// What the layers of a model do with positions, for a person or as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/json_writer.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

// "layers 0-31" or "layers 0, 2-5": those that use this rotary embedding; "" when the model lists
// no layers.
[[nodiscard]] std::string layers_with_rotary(const ModelSpec& model, std::size_t rotary);

// Layers that treat positions alike.
struct LayerGroup {
  LayerEncoding encoding;
  std::string kind;               // "rotary", "none (NoPE)"
  std::vector<std::string> runs;  // "0-2", "4"; at least one
  std::string temperature;        // what queries are multiplied with; "" for 1
};

// In the order of their first layers; empty when the model lists none.
[[nodiscard]] std::vector<LayerGroup> layer_groups(const ModelSpec& model);

// One paragraph for each kind of layer, with the layers of that kind; "" when all rotate alike and
// no query grows, because then the embeddings say it all.
[[nodiscard]] std::string layers_text(const ModelSpec& model);

// The member "layers".
void write_layers(JsonWriter& json, const ModelSpec& model);

}  // namespace rotary::cli
