// SPDX-License-Identifier: Apache-2.0
// Functions for EncodingChoice::read.
#pragma once

#include "model/json/reader.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// position_embedding_type: "rope" means rotation; "nope" or absence means no positions.
[[nodiscard]] LayerEncoding rope_or_none(Reader& config);
// position_embedding_type: "rotary": rotation; "absolute" or absence: learned positions.
[[nodiscard]] LayerEncoding rotary_or_learned(Reader& config);
// position_embedding_type: "absolute" or absence means learned positions; others are refused.
[[nodiscard]] LayerEncoding absolute_only(Reader& config);
// attn_config.alibi: true or absence means ALiBi; false, which Transformers lacks, is refused.
[[nodiscard]] LayerEncoding mpt_encoding(Reader& config);
// hidden_size: 4096 is the 7B model, which rotates; 5120 is the 13B model, which has ALiBi.
[[nodiscard]] LayerEncoding baichuan_encoding(Reader& config);
// OLMo's own code: rope must be true. It may be absent in configs without n_heads, which are for a
// later class (LLaDA MoE).
[[nodiscard]] LayerEncoding olmo_encoding(Reader& config);
// Accepts ChatGLM 2 and later. ChatGLM 1 has the same model_type, but rotates by two positions.
[[nodiscard]] LayerEncoding chatglm_encoding(Reader& config);

}  // namespace rotary
