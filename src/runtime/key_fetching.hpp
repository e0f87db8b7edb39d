// SPDX-License-Identifier: Apache-2.0
// How streams of keys, and tensors beyond the caches, are prefetched on this machine.
#pragma once

#include "kernels/key_fetching.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Cheap after the first call. Error: unsupported, if ROTARY_KEY_FETCHING names no way.
[[nodiscard]] Result<kernels::KeyFetching> chosen_fetching();

}  // namespace rotary
