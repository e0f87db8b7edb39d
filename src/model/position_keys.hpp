// SPDX-License-Identifier: Apache-2.0
// Keys beside the rope dictionaries that say how positions enter.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "model/model_config.hpp"
#include "rotary/position_maps.hpp"

namespace rotary {

// Refuses a position_embedding_type that contradicts a family which does not read it.
void check_position_embedding_type(Reader& config, const ModelConfig& model);

// dual_chunk_attention_config, with a warning that says what it changes; nothing if it is absent.
[[nodiscard]] std::optional<DualChunk> read_dual_chunk(Reader& config);

// For a family that nobody knows: refuses keys about positions, heads or layers that no reader
// looked for. asked: the paths that readers looked for.
void refuse_other_position_keys(Reader& config, const std::set<std::string>& asked);

}  // namespace rotary
