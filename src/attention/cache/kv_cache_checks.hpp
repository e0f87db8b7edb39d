// SPDX-License-Identifier: Apache-2.0
// The requirements of append(), checked before it writes anything.
#pragma once

#include <cstdint>
#include <optional>

#include "rotary/kv_cache.hpp"
#include "rotary/result.hpp"
#include "tensor/stored_heads.hpp"

namespace rotary {

// Most features of a head that is normalised or quantized: it goes through a buffer of fixed size.
inline constexpr std::int64_t longest_normalized_head = 2048;

// A cache of elements of a dtype, or in 8 bits.
struct StoredCache {
  WrittenHeads k;
  std::optional<WrittenHeads> v = {};
};

// One call of append(). rotations: null if keys are stored unrotated. Unused strides of its views
// are 0.
struct AppendCall {
  StoredCache cache;
  KvHeads heads;
  const Slots& slots;
  const Rotations* rotations;
  const AppendOptions& options;
};

// Whether there is anything to store.
[[nodiscard]] bool has_elements(const KvHeads& heads) noexcept;

[[nodiscard]] Status check_append(const AppendCall& call);

// Two of its requirements, for callers with a check of views of their own. That v is beside k on
// both sides or on neither, with the same tokens and slots:
[[nodiscard]] Status check_v_beside_k(const AppendCall& call);
// That slots fit heads and caches, which are checked already, whatever numbers a map holds:
[[nodiscard]] Status check_map(const AppendCall& call);

}  // namespace rotary
