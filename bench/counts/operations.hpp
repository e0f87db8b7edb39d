// SPDX-License-Identifier: Apache-2.0
// The calls whose instructions are counted: making rows, rotating in a decode step and a short
// prefill, appending to a KV cache, and shifting cached keys.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "rotary/result.hpp"

namespace rotary::bench {

struct CountedOperation {
  std::string name;  // the key in recorded.json
  std::function<Status()> call;
};

// Each operation owns its data and does the same work in every call. Throws if data cannot be made.
[[nodiscard]] std::vector<CountedOperation> counted_operations();

inline void require(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message);
}
template <class T>
[[nodiscard]] T made(Result<T> result) {
  if (!result) require(result.error());
  return *std::move(result);
}

}  // namespace rotary::bench
