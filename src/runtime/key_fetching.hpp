// SPDX-License-Identifier: Apache-2.0
// How this machine prefetches keys, and which tensors count as larger than its caches.
#pragma once

#include <cstdint>

#include "kernels/key_fetching.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Cheap after the first call. Error: unsupported, if ROTARY_KEY_FETCHING holds no known name.
[[nodiscard]] Result<kernels::KeyFetching> chosen_fetching();

// Tensors of at least this size count as larger than the caches. The size is half of the L3 cache,
// because other work uses a part of that cache. An L3 cache of unknown size counts as 32 MiB.
[[nodiscard]] std::int64_t bytes_beyond_caches();

}  // namespace rotary
