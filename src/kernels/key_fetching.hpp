// SPDX-License-Identifier: Apache-2.0
// The ways in which memory is prefetched that is too large for the caches.
#pragma once

namespace rotary::kernels {

// Streams of keys and values prefetch in one of two ways: a matter of time alone
// (docs/decisions.md, 0012).
enum class KeyFetching {
  lines,  // every line of a key, 4 KiB before it is read, into the first-level cache; keys and
          // values are read by turns
  pages,  // of adjacent keys two lines of the next page, so that the processor's own goes on
};

// The faster way on this processor, as far as it was measured.
[[nodiscard]] KeyFetching usual_key_fetching();

}  // namespace rotary::kernels
