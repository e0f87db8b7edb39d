// SPDX-License-Identifier: Apache-2.0
// CUDA memory and launches. A failed CUDA call becomes an error.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "job.hpp"
#include "plan.hpp"
#include "rotary/result.hpp"

namespace rotary::cuda {

struct FreeDeviceMemory {
  void operator()(std::byte* memory) const noexcept;
};
using DeviceMemory = std::unique_ptr<std::byte, FreeDeviceMemory>;

[[nodiscard]] Result<int> current_device();

// Copies the bytes to the memory of the current device and waits.
[[nodiscard]] Result<DeviceMemory> upload(std::span<const std::byte> bytes);

// stream: a cudaStream_t, or null.
[[nodiscard]] Status launch(const Step& step, void* stream);
[[nodiscard]] Status launch(const RowsJob& job, void* stream);

}  // namespace rotary::cuda
