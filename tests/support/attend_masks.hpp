// SPDX-License-Identifier: Apache-2.0
// Masks, sequences and temperatures for tests of attend().
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support/attend.hpp"

namespace rotary::test {

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

// Scores of random activations, uniform in [-4, 4), then spread by about 2.
inline double scale_for(std::int64_t head_dim) {
  return 0.4 / std::sqrt(static_cast<double>(head_dim));
}

// Makes a call for the case and checks its results.
[[nodiscard]] testing::AssertionResult is_right(const AttendCase& made_of);

}  // namespace rotary::test
