// SPDX-License-Identifier: Apache-2.0
// Keys about positions outside the rope dictionaries.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "model/model_config.hpp"
#include "rotary/position_maps.hpp"

namespace rotary {

// Adds an error (for "absolute" a warning) if position_embedding_type contradicts a family that
// does not read it.
void check_position_embedding_type(Reader& config, const ModelConfig& model);

// Reads dual_chunk_attention_config and warns of its effect; nothing if it is absent.
[[nodiscard]] std::optional<DualChunk> read_dual_chunk(Reader& config);

// For an unknown family: adds an error for a key about positions, heads or layers that no reader
// looked for. asked: the paths that readers looked for.
void refuse_other_position_keys(Reader& config, const std::set<std::string>& asked);

}  // namespace rotary
