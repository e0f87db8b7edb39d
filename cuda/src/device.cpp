// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/message.hpp"
#include "kernels.hpp"

namespace rotary::cuda {
namespace {

Status checked(cudaError_t error, std::string_view doing) {
  if (error == cudaSuccess) return {};
  if (error == cudaErrorMemoryAllocation) {
    return Error{ErrorCode::out_of_memory, message("out of memory of the device, ", doing)};
  }
  return unsupported("CUDA must be able to ", doing, ", got ", cudaGetErrorName(error), ": ",
                     cudaGetErrorString(error));
}

struct Grid {
  unsigned x;
  unsigned y;
  unsigned threads;
  std::size_t shared_bytes;
};

template <class Job>
Status launch(void (*kernel)(Job), const Grid& grid, Job job, void* stream) {
  void* arguments[] = {&job};
  const cudaError_t error =
      cudaLaunchKernel(kernel, dim3(grid.x, grid.y), dim3(grid.threads), arguments,
                       grid.shared_bytes, static_cast<cudaStream_t>(stream));
  if (error != cudaSuccess) (void)cudaGetLastError();  // clears the error, reported below
  return checked(error, "launch a kernel");
}

StepKernel kernel_for(DType from, const KernelChoice& choice) {
  if (from == DType::f32) return kernel_of_f32(choice);
  return from == DType::bf16 ? kernel_of_bf16(choice) : kernel_of_f16(choice);
}

}  // namespace

void FreeDeviceMemory::operator()(std::byte* memory) const noexcept { (void)cudaFree(memory); }

Result<int> current_device() {
  int device = 0;
  if (auto status = checked(cudaGetDevice(&device), "name the current device"); !status)
    return std::move(status).error();
  return device;
}

Result<DeviceMemory> upload(std::span<const std::byte> bytes) {
  void* memory = nullptr;
  if (auto status = checked(cudaMalloc(&memory, bytes.size()), "allocate memory"); !status)
    return std::move(status).error();
  DeviceMemory owned(static_cast<std::byte*>(memory));
  auto status = checked(cudaMemcpy(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
                        "copy frequencies to the device");
  if (!status) return std::move(status).error();
  return owned;
}

Status launch(const Step& step, void* stream) {
  const Cut& cut = step.job.cut;
  const Grid grid{static_cast<unsigned>(cut.blocks_of_tokens),
                  static_cast<unsigned>(cut.blocks_of_heads), static_cast<unsigned>(cut.threads),
                  static_cast<std::size_t>(cut.shared_bytes)};
  return launch(kernel_for(step.from, step.kernel), grid, step.job, stream);
}

Status launch(const RowsJob& job, void* stream) {
  constexpr unsigned threads = 128;
  const std::int64_t blocks = (job.batch * job.tokens * job.pairs + threads - 1) / threads;
  const Grid grid{static_cast<unsigned>(std::min<std::int64_t>(blocks, 1 << 20)), 1, threads, 0};
  return launch(kernel_of_rows(), grid, job, stream);
}

}  // namespace rotary::cuda
