// SPDX-License-Identifier: Apache-2.0
// Finds whether a slot map names a slot twice: exact, in memory of a fixed size.
#pragma once

#include <cstdint>
#include <optional>

#include "attention/cache/slot_reader.hpp"

namespace rotary {

struct SlotRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The tokens of all batch rows of a call.
struct SlotTokens {
  const SlotReader& slots;
  std::int64_t batch;
  std::int64_t tokens;
};

// A slot that two tokens share. Requires slots that are within range, or negative, which never
// count as the same.
[[nodiscard]] std::optional<std::int64_t> find_repeated_slot(const SlotTokens& of,
                                                             const SlotRange& range) noexcept;

}  // namespace rotary
