// SPDX-License-Identifier: Apache-2.0
// The keys that a query sees: at most two runs of adjacent keys, the sinks and the window.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rotary/attention.hpp"

namespace rotary {

// The largest |position| of a sequence. The difference of two positions, plus three times this
// number, then fits int64.
inline constexpr std::int64_t largest_mask_position = std::int64_t{1} << 60;

// Keys [begin, end) of a sequence; empty if end <= begin.
struct KeyRun {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] bool empty() const noexcept { return end <= begin; }
};

[[nodiscard]] inline KeyRun hull(const KeyRun& a, const KeyRun& b) noexcept {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

[[nodiscard]] inline KeyRun common(const KeyRun& a, const KeyRun& b) noexcept {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

struct SeenKeys {
  KeyRun sinks;  // all before the window, without overlap
  KeyRun window;
};

// Keys that a query of the sequence sees. Requires a checked mask and positions within
// largest_mask_position.
[[nodiscard]] inline SeenKeys seen_keys(const AttentionMask& mask,
                                        const AttentionSequence& sequence,
                                        std::int64_t query) noexcept {
  // Index of the key at the query's own position; may be outside the sequence.
  const std::int64_t own = sequence.query_position + query - sequence.key_position;
  const bool causal = mask.order == AttentionOrder::causal;
  const auto clamped = [&](std::int64_t key) {
    return std::clamp<std::int64_t>(key, 0, sequence.keys);
  };
  const auto reach = [](std::int64_t width) {  // 3 * … exceeds the difference of any two positions
    return std::clamp(width, -3 * largest_mask_position, 3 * largest_mask_position);
  };
  const std::int64_t last = causal ? clamped(own + 1) : sequence.keys;
  SeenKeys seen;
  seen.window.end = mask.right ? std::min(last, clamped(own + reach(*mask.right) + 1)) : last;
  seen.window.begin = mask.left ? clamped(own - reach(*mask.left)) : 0;
  seen.sinks.end = std::min(mask.sinks, last);
  if (seen.window.empty()) {
    seen.window = {};
  } else if (seen.sinks.end >= seen.window.begin) {  // they join
    seen.window = {0, std::max(seen.sinks.end, seen.window.end)};
    seen.sinks = {};
  }
  return seen;
}

}  // namespace rotary
