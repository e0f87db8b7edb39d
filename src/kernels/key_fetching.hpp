// SPDX-License-Identifier: Apache-2.0
// How the attention kernels prefetch keys and values that do not fit in the caches.
#pragma once

namespace rotary::kernels {

// The two ways to prefetch. Results are the same with both; only the time differs
// (docs/decisions.md, 0012).
enum class KeyFetching {
  lines,  // every line of a key, 4 KiB before it is read, into the first-level cache; keys and
          // values are read by turns
  pages,  // of adjacent keys two lines of the next page, so that the processor's own goes on
};

// The faster way on this processor, as far as measured: `pages` on AMD Zen 4, `lines` elsewhere.
[[nodiscard]] KeyFetching usual_key_fetching();

}  // namespace rotary::kernels
