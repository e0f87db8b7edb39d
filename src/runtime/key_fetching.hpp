// SPDX-License-Identifier: Apache-2.0
// How streams of keys, and tensors beyond the caches, are prefetched on this machine.
#pragma once

#include <cstdint>

#include "kernels/key_fetching.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Cheap after the first call. Error: unsupported, if ROTARY_KEY_FETCHING names no way.
[[nodiscard]] Result<kernels::KeyFetching> chosen_fetching();

// Tensors of this many bytes and more are beyond the caches: half of the third-level one, of which
// others use a part, or of 32 MiB where the system does not tell its size.
[[nodiscard]] std::int64_t bytes_beyond_caches();

}  // namespace rotary
