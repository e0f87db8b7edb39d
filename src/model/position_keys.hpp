// SPDX-License-Identifier: Apache-2.0
// Keys outside the rope dictionaries that say how positions enter the model.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "model/model_config.hpp"
#include "rotary/position_maps.hpp"

namespace rotary {

// If the family does not read position_embedding_type and the config's value contradicts what the
// family does: adds an error, or for "absolute" a warning.
void check_position_embedding_type(Reader& config, const ModelConfig& model);

// Reads dual_chunk_attention_config and warns what it changes; nothing if it is absent.
[[nodiscard]] std::optional<DualChunk> read_dual_chunk(Reader& config);

// For an unknown family: adds an error for a key about positions, heads or layers that no reader
// looked for. asked: the paths of the keys that readers looked for.
void refuse_other_position_keys(Reader& config, const std::set<std::string>& asked);

}  // namespace rotary
