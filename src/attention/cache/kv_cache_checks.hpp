// SPDX-License-Identifier: Apache-2.0
// What append() asks before it writes anything.
#pragma once

#include "rotary/kv_cache.hpp"
#include "rotary/result.hpp"

namespace rotary {

// The longest head that goes through a buffer of fixed size when it is normalised.
inline constexpr std::int64_t longest_normalized_head = 2048;

// A call of append; rotations are null where keys are stored as they are. Its views are without
// unused strides.
struct AppendCall {
  KvCache cache;
  KvHeads heads;
  const Slots& slots;
  const Rotations* rotations;
  const AppendOptions& options;
};

// There is anything to store.
[[nodiscard]] bool has_elements(const KvHeads& heads) noexcept;

[[nodiscard]] Status check_append(const AppendCall& call);

}  // namespace rotary
