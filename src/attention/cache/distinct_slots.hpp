// SPDX-License-Identifier: Apache-2.0
// Does a slot map name a slot twice? Exact, in memory of a fixed size.
#pragma once

#include <cstdint>
#include <optional>

#include "attention/cache/slot_reader.hpp"

namespace rotary {

struct SlotRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The tokens of a call, of all batch rows.
struct SlotTokens {
  const SlotReader& slots;
  std::int64_t batch;
  std::int64_t tokens;
};

// A slot that two tokens have. Requires slots that are negative (never the same) or within range.
[[nodiscard]] std::optional<std::int64_t> find_repeated_slot(const SlotTokens& of,
                                                             const SlotRange& range) noexcept;

}  // namespace rotary
