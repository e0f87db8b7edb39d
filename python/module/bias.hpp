// SPDX-License-Identifier: Apache-2.0
// A relative bias and the table that T5's points into.
#pragma once

#include <vector>

#include "rotary/relative_bias.hpp"

namespace rotary::python {

struct OwnedBias {
  RelativeBias value;
  std::vector<double> table = {};  // [buckets, heads]; moved with the bias, never copied

  explicit OwnedBias(RelativeBias bias) : value(std::move(bias)) {}
  OwnedBias(OwnedBias&&) = default;
  OwnedBias& operator=(OwnedBias&&) = default;
  OwnedBias(const OwnedBias&) = delete;
  OwnedBias& operator=(const OwnedBias&) = delete;
  ~OwnedBias() = default;
};

}  // namespace rotary::python
