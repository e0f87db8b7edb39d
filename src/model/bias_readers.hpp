// SPDX-License-Identifier: Apache-2.0
// Functions for Family::read_bias. Paths in comments name files of Transformers.
#pragma once

#include <optional>

#include "model/model_config.hpp"
#include "model/sources.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary {

// bloom/modeling_bloom.py, build_alibi_tensor: slopes times the position of the key.
[[nodiscard]] std::optional<RelativeBias> bloom_bias(const ModelConfig& config, Sources& sources);
// mpt/modeling_mpt.py, build_mpt_alibi_tensor. Only MPT's own code reads alibi_bias_max.
[[nodiscard]] std::optional<RelativeBias> mpt_bias(const ModelConfig& config, Sources& sources);
// falcon/modeling_falcon.py: BLOOM's bias, divided by sqrt(head_dim) like the scores.
[[nodiscard]] std::optional<RelativeBias> falcon_bias(const ModelConfig& config, Sources& sources);
// Baichuan 13B: slopes times the distance.
[[nodiscard]] std::optional<RelativeBias> baichuan_bias(const ModelConfig& config,
                                                        Sources& sources);
// t5/modeling_t5.py, _relative_position_bucket: bidirectional in encoders, causal in decoders.
[[nodiscard]] std::optional<RelativeBias> t5_encoder_bias(const ModelConfig& config,
                                                          Sources& sources);
[[nodiscard]] std::optional<RelativeBias> t5_decoder_bias(const ModelConfig& config,
                                                          Sources& sources);

}  // namespace rotary
