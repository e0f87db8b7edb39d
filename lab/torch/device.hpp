// SPDX-License-Identifier: Apache-2.0
// The device of this process's tensors: the processor, or a GPU that torch was built for.
#pragma once

#include <torch/torch.h>

namespace rotary::lab {

// The processor, until use_device() (train_cell.hpp) says otherwise.
[[nodiscard]] at::Device device() noexcept;

}  // namespace rotary::lab
