// SPDX-License-Identifier: Apache-2.0
// Encodings, masks, sequences and temperatures for tests of attend().
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support/attention/attended.hpp"

namespace rotary::test {

// Encodings that attend() takes: rotary over whole heads, over the last features, with a bias and
// with Shaw's vectors, whose window is also wider than any sequence.
[[nodiscard]] std::vector<EncodingSample> attend_encodings(const AttentionShape& shape);

struct NamedMask {
  std::string name;
  AttentionMask mask;
  std::vector<AttentionSequence> sequences = {};
  QueryTemperature q_temperature = {};
};

inline constexpr AttentionShape small{
    .queries = 9, .keys = 23, .features = 12, .value_features = 10};

// Masks for the shape small.
[[nodiscard]] std::vector<NamedMask> attend_masks();

// False for positions so far away that the factor of xPos is out of bounds.
[[nodiscard]] bool meet(const EncodingSample& encoding, const NamedMask& mask);

// A call of 12 features for the encoding under the mask.
[[nodiscard]] AttendCase case_of(const AttentionShape& shape, const EncodingSample& encoding,
                                 const NamedMask& mask);

// Scores of random activations, uniform in [-4, 4), then spread by about 2.
inline double scale_for(std::int64_t head_dim) {
  return 0.4 / std::sqrt(static_cast<double>(head_dim));
}

}  // namespace rotary::test
