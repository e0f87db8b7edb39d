// SPDX-License-Identifier: Apache-2.0
// The requirements of append(), checked before it writes anything.
#pragma once

#include "rotary/kv_cache.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Most features of a head that is normalised: it goes through a buffer of fixed size.
inline constexpr std::int64_t longest_normalized_head = 2048;

// One call of append(). rotations: null if keys are stored unrotated. Unused strides of its views
// are 0.
struct AppendCall {
  KvCache cache;
  KvHeads heads;
  const Slots& slots;
  const Rotations* rotations;
  const AppendOptions& options;
};

// Whether there is anything to store.
[[nodiscard]] bool has_elements(const KvHeads& heads) noexcept;

[[nodiscard]] Status check_append(const AppendCall& call);

}  // namespace rotary
