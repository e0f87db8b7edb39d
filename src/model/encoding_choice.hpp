// SPDX-License-Identifier: Apache-2.0
// Families whose config chooses how positions enter: the key that says so, and what its absence
// means. Each is an EncodingReader of families.hpp.
#pragma once

#include <string>
#include <vector>

#include "model/json/config_json.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// position_embedding_type: "rope" rotates, anything else and absence have no positions.
[[nodiscard]] Result<LayerEncoding> rope_or_none(const ConfigObject& config,
                                                 std::vector<std::string>& warnings);
// use_mem_rope: true rotates, false and absence have no positions.
[[nodiscard]] Result<LayerEncoding> mem_rope_or_none(const ConfigObject& config,
                                                     std::vector<std::string>& warnings);
// position_embedding_type: "rotary" rotates; "absolute", as when absent, is learned.
[[nodiscard]] Result<LayerEncoding> rotary_or_learned(const ConfigObject& config,
                                                      std::vector<std::string>& warnings);
// position_embedding_type: "absolute", as when absent, is learned; others are refused.
[[nodiscard]] Result<LayerEncoding> absolute_only(const ConfigObject& config,
                                                  std::vector<std::string>& warnings);
// sinusoidal_pos_embds: false, as when absent, is learned.
[[nodiscard]] Result<LayerEncoding> sinusoidal_or_learned(const ConfigObject& config,
                                                          std::vector<std::string>& warnings);
// alibi: false, as when absent, rotates.
[[nodiscard]] Result<LayerEncoding> alibi_or_rotary(const ConfigObject& config,
                                                    std::vector<std::string>& warnings);
// attn_config.alibi: true, as when absent; false is refused, for its alternatives are not in
// Transformers.
[[nodiscard]] Result<LayerEncoding> mpt_encoding(const ConfigObject& config,
                                                 std::vector<std::string>& warnings);
// No key: hidden_size 4096 is the 7B model, which rotates, 5120 the 13B one with linear biases.
[[nodiscard]] Result<LayerEncoding> baichuan_encoding(const ConfigObject& config,
                                                      std::vector<std::string>& warnings);

// ChatGLM 2 and later; the first, of the same model_type, turns by two positions.
[[nodiscard]] Result<LayerEncoding> chatglm_encoding(const ConfigObject& config,
                                                     std::vector<std::string>& warnings);

}  // namespace rotary
