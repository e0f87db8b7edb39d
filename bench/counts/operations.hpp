// SPDX-License-Identifier: Apache-2.0
// The calls whose instructions are counted: those of a decode step and of a short prefill.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rotary/result.hpp"

namespace rotary::bench {

struct Operation {
  std::string name;  // what is recorded goes by it
  std::function<Status()> call;
};

// Each owns what it works on: every call does the same.
[[nodiscard]] Result<std::vector<Operation>> counted_operations();

}  // namespace rotary::bench
