// SPDX-License-Identifier: Apache-2.0
// Functions for EncodingChoice::read. The comments name the key that decides, and say what its
// absence means.
#pragma once

#include "model/json/reader.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// position_embedding_type: "rope" rotates; anything else, or absence, means no positions.
[[nodiscard]] LayerEncoding rope_or_none(Reader& config);
// position_embedding_type: "rotary" rotates; "absolute" or absence means learned positions.
[[nodiscard]] LayerEncoding rotary_or_learned(Reader& config);
// position_embedding_type: "absolute" or absence means learned positions; others are refused.
[[nodiscard]] LayerEncoding absolute_only(Reader& config);
// attn_config.alibi: true or absence means ALiBi; false is refused, because its alternatives are
// not in Transformers.
[[nodiscard]] LayerEncoding mpt_encoding(Reader& config);
// No key decides: hidden_size 4096 is the 7B model, which rotates; 5120 is the 13B model, which has
// linear biases.
[[nodiscard]] LayerEncoding baichuan_encoding(Reader& config);
// OLMo's own code: rope must be true. A file with num_attention_heads is of a later class (LLaDA
// MoE), which always rotates.
[[nodiscard]] LayerEncoding olmo_encoding(Reader& config);
// Accepts ChatGLM 2 and later; the first, with the same model_type, rotates by two positions.
[[nodiscard]] LayerEncoding chatglm_encoding(Reader& config);

}  // namespace rotary
