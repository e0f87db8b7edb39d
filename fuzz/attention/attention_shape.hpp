// SPDX-License-Identifier: Apache-2.0
// Decodes the sizes and options that all attention targets share.
#pragma once

#include <cstdint>
#include <vector>

#include "check/attend_call.hpp"
#include "fuzz/bytes.hpp"
#include "rotary/attention.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::fuzz {

using check::AttentionShape;

[[nodiscard]] AttentionShape decode_shape(Bytes& input);

// f32, bf16 or f16.
[[nodiscard]] DType decode_attention_dtype(Bytes& input);

// Packed documents, gaps, and sequences without queries or keys. Empty: the call gets no list.
[[nodiscard]] std::vector<AttentionSequence> decode_sequences(Bytes& input,
                                                              const AttentionShape& shape,
                                                              std::int64_t lowest_position);

// A rotary window on some of the features. Requires features >= 2.
[[nodiscard]] HeadWindow decode_pairs(Bytes& input, std::int64_t features);
[[nodiscard]] AttentionMask decode_mask(Bytes& input);
[[nodiscard]] double decode_scale(Bytes& input);
[[nodiscard]] QueryTemperature decode_temperature(Bytes& input);

}  // namespace rotary::fuzz
