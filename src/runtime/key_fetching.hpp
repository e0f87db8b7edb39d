// SPDX-License-Identifier: Apache-2.0
// How streams of keys are prefetched on this machine.
#pragma once

#include "kernels/attend/attend_kernels.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Cheap after the first call. Error: unsupported, if ROTARY_KEY_FETCHING names no way.
[[nodiscard]] Result<kernels::KeyFetching> chosen_fetching();

}  // namespace rotary
