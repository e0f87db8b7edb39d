// SPDX-License-Identifier: Apache-2.0
// A call of append() that has passed every check. Functions that take a CheckedAppend cannot fail.
#pragma once

#include <optional>

#include "attention/cache/slot_reader.hpp"
#include "kernels/kernels.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/result.hpp"
#include "tensor/stored_heads.hpp"

namespace rotary {

// The views of a KvCache or a QuantizedKvCache.
struct StoredCache {
  WrittenHeads k;
  std::optional<WrittenHeads> v = {};
};

// Unused strides of all views are 0.
struct AppendCall {
  StoredCache cache;
  KvHeads heads;
  const Slots& slots;
  const AppendOptions& options;
};

struct CheckedAppend {
  const AppendCall& args;
  const kernels::KernelTable& kernels;
  SlotReader slots;
  bool stores_nothing;  // no heads, or only padding
};

[[nodiscard]] Result<CheckedAppend> check_append(const AppendCall& call);

}  // namespace rotary
