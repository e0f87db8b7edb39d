// SPDX-License-Identifier: Apache-2.0
// The kernel table in use.
#pragma once

#include "kernels/kernels.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Never null on success; cheap after the first call. Error: unsupported.
[[nodiscard]] Result<const kernels::KernelTable*> active_kernels();

}  // namespace rotary
