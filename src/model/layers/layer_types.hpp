// SPDX-License-Identifier: Apache-2.0
// The type of each layer of a model, under the names of layer_types in Transformers 5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/families.hpp"
#include "model/json/reader.hpp"
#include "model/sources.hpp"

namespace rotary {

// A layer whose queries attend to an image, without text positions (Llama 3.2 Vision).
inline constexpr std::string_view cross_attention = "cross_attention";

// One entry for each layer, from the config's list under any of its names, else from the family's
// pattern. Empty if there is neither. layers: the config's number of layers. Notes the source.
[[nodiscard]] std::vector<std::string> read_layer_types(Reader& config, const Family& family,
                                                        std::optional<std::int64_t> layers,
                                                        Sources& sources);

[[nodiscard]] bool has_attention(std::string_view layer_type);

}  // namespace rotary
