// SPDX-License-Identifier: Apache-2.0
// Families whose config chooses how positions enter: the key that decides, and the meaning of its
// absence. Each function is an EncodingReader of families.hpp.
#pragma once

#include <string>
#include <vector>

#include "model/json/config_json.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// position_embedding_type: "rope" rotates; anything else, or absence, means no positions.
[[nodiscard]] Result<LayerEncoding> rope_or_none(const ConfigObject& config,
                                                 std::vector<std::string>& warnings);
// use_mem_rope: true rotates; false or absence means no positions.
[[nodiscard]] Result<LayerEncoding> mem_rope_or_none(const ConfigObject& config,
                                                     std::vector<std::string>& warnings);
// position_embedding_type: "rotary" rotates; "absolute" or absence means learned positions.
[[nodiscard]] Result<LayerEncoding> rotary_or_learned(const ConfigObject& config,
                                                      std::vector<std::string>& warnings);
// position_embedding_type: "absolute" or absence means learned positions; others are refused.
[[nodiscard]] Result<LayerEncoding> absolute_only(const ConfigObject& config,
                                                  std::vector<std::string>& warnings);
// sinusoidal_pos_embds: false or absence means learned positions.
[[nodiscard]] Result<LayerEncoding> sinusoidal_or_learned(const ConfigObject& config,
                                                          std::vector<std::string>& warnings);
// alibi: false or absence rotates.
[[nodiscard]] Result<LayerEncoding> alibi_or_rotary(const ConfigObject& config,
                                                    std::vector<std::string>& warnings);
// attn_config.alibi: true or absence means ALiBi; false is refused, because its alternatives are
// not in Transformers.
[[nodiscard]] Result<LayerEncoding> mpt_encoding(const ConfigObject& config,
                                                 std::vector<std::string>& warnings);
// No key decides: hidden_size 4096 is the 7B model, which rotates; 5120 is the 13B model, which has
// linear biases.
[[nodiscard]] Result<LayerEncoding> baichuan_encoding(const ConfigObject& config,
                                                      std::vector<std::string>& warnings);

// Accepts ChatGLM 2 and later; the first, with the same model_type, rotates by two positions.
[[nodiscard]] Result<LayerEncoding> chatglm_encoding(const ConfigObject& config,
                                                     std::vector<std::string>& warnings);

}  // namespace rotary
