// SPDX-License-Identifier: Apache-2.0
// A relative bias, with the table that a T5 bias points into.
#pragma once

#include <memory>
#include <vector>

#include "rotary/relative_bias.hpp"

namespace rotary::python {

struct OwnedBias {
  RelativeBias value;
  std::shared_ptr<std::vector<double>> table = {};  // [buckets, heads]; copies share it
};

}  // namespace rotary::python
