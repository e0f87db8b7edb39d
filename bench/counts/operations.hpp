// SPDX-License-Identifier: Apache-2.0
// The calls whose instructions are counted: making rows, rotating in a decode step and a short
// prefill, appending to a KV cache, and shifting cached keys.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "rotary/result.hpp"

namespace rotary::bench {

struct CountedOperation {
  std::string name;  // the key in recorded.json
  std::function<Status()> call;
};

// Each operation owns its data and does the same work in every call.
[[nodiscard]] Result<std::vector<CountedOperation>> counted_operations();

}  // namespace rotary::bench
