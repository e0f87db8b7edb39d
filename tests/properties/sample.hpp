// SPDX-License-Identifier: Apache-2.0
// One generated input of a property: a spec, two heads and three positions. It is derived from a
// few numbers, which RapidCheck can shrink and planted bugs can share.
#pragma once

#include <cstdint>
#include <vector>

#include "rotary/rotary_spec.hpp"

namespace rotary::test {

struct SampleShape {
  std::int64_t pairs = 1;
  std::int64_t features_before = 0;
  std::int64_t features_after = 0;
  Pairing pairing = Pairing::half;
  double base = 10000;
  double attention_factor = 1;
  std::int64_t position = 0;
  std::int64_t other_position = 0;
  std::int64_t shift = 0;
  std::uint64_t seed = 0;
};

struct Sample {
  RotarySpec spec;
  std::vector<float> x;  // [head_dim]
  std::vector<float> y;  // [head_dim]
  std::int64_t position = 0;
  std::int64_t other_position = 0;
  std::int64_t shift = 0;

  [[nodiscard]] HeadWindow window() const;
};

[[nodiscard]] Sample make_sample(const SampleShape& shape);

}  // namespace rotary::test
