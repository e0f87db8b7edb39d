// SPDX-License-Identifier: Apache-2.0
// How this machine prefetches keys, and tensors larger than the caches.
#pragma once

#include <cstdint>

#include "kernels/key_fetching.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Cheap after the first call. Error: unsupported, if ROTARY_KEY_FETCHING holds no known name.
[[nodiscard]] Result<kernels::KeyFetching> chosen_fetching();

// Tensors of at least this size count as larger than the caches. Half of the L3 cache, because
// other work uses a part of it; 32 MiB if the system does not tell its size.
[[nodiscard]] std::int64_t bytes_beyond_caches();

}  // namespace rotary
