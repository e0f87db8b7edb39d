// SPDX-License-Identifier: Apache-2.0
// Encodings, masks, sequences and temperatures for tests of attend().
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support/attention/attended.hpp"

namespace rotary::test {

// Every encoding that attend() applies, alone and combined. Rotary rotates part of a head, entire
// heads, or the last features. One of Shaw's windows is wider than any sequence.
[[nodiscard]] std::vector<EncodingSample> attend_encodings(const AttentionShape& shape);

struct NamedMask {
  std::string name;
  AttentionMask mask;
  std::vector<AttentionSequence> sequences = {};
  QueryTemperature q_temperature = {};
};

inline constexpr AttentionShape small{
    .queries = 9, .keys = 23, .features = 12, .value_features = 10};

[[nodiscard]] std::vector<NamedMask> attend_masks();

// Whether a test may combine the two: xPos's factor is out of bounds at positions beyond 8k.
[[nodiscard]] bool meet(const EncodingSample& encoding, const NamedMask& mask);

// The scale suits heads of 12 features.
[[nodiscard]] AttendCase case_of(const AttentionShape& shape, const EncodingSample& encoding,
                                 const NamedMask& mask);

// For activations uniform in [-4, 4), scores with this scale have a standard deviation of about 2.
inline double scale_for(std::int64_t head_dim) {
  return 0.4 / std::sqrt(static_cast<double>(head_dim));
}

}  // namespace rotary::test
