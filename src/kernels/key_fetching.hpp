// SPDX-License-Identifier: Apache-2.0
// How the attention kernels prefetch keys and values that are larger than the caches.
#pragma once

namespace rotary::kernels {

// Two ways to prefetch. They change the time, not the results (docs/decisions.md, 0012).
enum class KeyFetching {
  lines,  // every line of a key, into L1, 4 KiB ahead; keys and values are read alternately
  pages,  // two lines of the next page, to keep the processor's own prefetching going
};

// The faster way on this processor as measured: `pages` on AMD Zen 4, `lines` elsewhere.
[[nodiscard]] KeyFetching usual_key_fetching();

}  // namespace rotary::kernels
