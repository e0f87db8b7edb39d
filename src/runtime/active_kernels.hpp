// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernels.hpp"
#include "rotary/result.hpp"

namespace rotary {

// Null until active_kernels() has succeeded.
[[nodiscard]] const kernels::KernelTable* chosen_kernels() noexcept;

// Never null on success; cheap after the first call. Error: unsupported.
[[nodiscard]] Result<const kernels::KernelTable*> active_kernels();

}  // namespace rotary
