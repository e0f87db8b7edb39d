// SPDX-License-Identifier: Apache-2.0
// Cuts the keys of few queries at fixed indices. Threads can then share one long sequence, and the
// bits of the result do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/attend/key_limits.hpp"
#include "kernels/attend/attend_kernels.hpp"

namespace rotary {

// Reading this many keys of one kv head takes about 60 us with 128 features in bf16.
inline constexpr std::int64_t keys_of_split = 2048;
static_assert(keys_of_split % kernels::keys_of_tile == 0);

// Sequences of up to this many queries are cut by keys.
inline constexpr std::int64_t most_queries_by_keys = 16;

// The splits with keys that some query sees; one empty split if no query sees a key.
struct KeySplits {
  std::int64_t first_of_sinks = 0;
  std::int64_t of_sinks = 0;
  std::int64_t first_of_windows = 0;
  std::int64_t of_windows = 0;

  [[nodiscard]] std::int64_t count() const noexcept {
    return std::max<std::int64_t>(of_sinks + of_windows, 1);
  }
  [[nodiscard]] KeyRun keys(std::int64_t index) const noexcept {
    if (of_sinks + of_windows == 0) return {};
    const std::int64_t split =
        index < of_sinks ? first_of_sinks + index : first_of_windows + index - of_sinks;
    return {split * keys_of_split, (split + 1) * keys_of_split};
  }
};

// The splits of queries [first, first + count) of the sequence.
[[nodiscard]] inline KeySplits key_splits(const AttentionMask& mask,
                                          const AttentionSequence& sequence, std::int64_t first,
                                          std::int64_t count) noexcept {
  KeyRun sinks;
  KeyRun windows;
  for (std::int64_t query = first; query < first + count; ++query) {
    const SeenKeys seen = seen_keys(mask, sequence, query);
    sinks = hull(sinks, seen.sinks);
    windows = hull(windows, seen.window);
  }
  const auto end_of = [](const KeyRun& run) { return (run.end - 1) / keys_of_split + 1; };
  KeySplits splits;
  if (!sinks.empty()) {
    splits.first_of_sinks = sinks.begin / keys_of_split;
    splits.of_sinks = end_of(sinks) - splits.first_of_sinks;
  }
  if (!windows.empty()) {
    splits.first_of_windows = windows.begin / keys_of_split;
    if (!sinks.empty()) splits.first_of_windows = std::max(splits.first_of_windows, end_of(sinks));
    splits.of_windows = std::max<std::int64_t>(end_of(windows) - splits.first_of_windows, 0);
  }
  return splits;
}

}  // namespace rotary
