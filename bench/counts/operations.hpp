// SPDX-License-Identifier: Apache-2.0
// The calls whose instructions are counted: those of a decode step and of a short prefill, their
// keys' way into a KV cache, and keys turned on there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rotary/result.hpp"

namespace rotary::bench {

struct CountedOperation {
  std::string name;  // what is recorded goes by it
  std::function<Status()> call;
};

// Each owns what it works on: every call does the same.
[[nodiscard]] Result<std::vector<CountedOperation>> counted_operations();

}  // namespace rotary::bench
