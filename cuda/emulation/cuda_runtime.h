// SPDX-License-Identifier: Apache-2.0
// Emulates the parts of CUDA that the folder cuda/ uses, on the CPU. Any C++ compiler can then
// build the kernels, and tests can use sanitizers. A launch runs the threads of a block one after
// another, each until it waits for others. Only one thread of the program may launch at a time.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define __global__
#define __device__
#define __shared__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_assume(condition)

struct dim3 {
  // NOLINTNEXTLINE(google-explicit-constructor): CUDA's is implicit, too
  dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {}
  unsigned x;
  unsigned y;
  unsigned z;
};
struct uint2 {
  unsigned x;
  unsigned y;
};

namespace emulation {
inline dim3 thread;
inline dim3 block;
inline dim3 block_size;
inline dim3 grid_size;
}  // namespace emulation
#define threadIdx emulation::thread
#define blockIdx emulation::block
#define blockDim emulation::block_size
#define gridDim emulation::grid_size

void __syncthreads();
void __syncwarp(unsigned mask);
double __shfl_xor_sync(unsigned mask, double value, int offset, int width);

inline float __uint_as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }
inline std::uint32_t __float_as_uint(float value) { return std::bit_cast<std::uint32_t>(value); }
inline double __ll2double_rn(long long value) { return static_cast<double>(value); }
inline float __double2float_rn(double value) { return static_cast<float>(value); }
inline float __ldg(const float* from) { return *from; }
inline double rsqrt(double value) { return 1 / std::sqrt(value); }
inline int min(int one, int other) { return one < other ? one : other; }

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorNotSupported = 801,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal };
using cudaStream_t = void*;
using cudaGraph_t = void*;
using cudaGraphExec_t = void*;

inline const char* cudaGetErrorName(cudaError_t) { return "an error of the emulation"; }
inline const char* cudaGetErrorString(cudaError_t) { return "an error of the emulation"; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 32;
  // The size is not rounded up, so that a sanitizer sees an access just beyond the end.
  if (bytes >= most || posix_memalign(memory, 256, bytes) != 0) return cudaErrorMemoryAllocation;
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaErrorNotSupported;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  return cudaErrorNotSupported;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
  return cudaErrorNotSupported;
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
  return cudaErrorNotSupported;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaErrorNotSupported; }
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
inline cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }

namespace emulation {

// Runs body(state) once for each thread of each block.
void launch(dim3 grid, dim3 block, void (*body)(void* state), void* state);

template <class Job>
struct Call {
  void (*kernel)(Job);
  const Job* job;
};

}  // namespace emulation

template <class Job>
cudaError_t cudaLaunchKernel(void (*kernel)(Job), dim3 grid, dim3 block, void** arguments,
                             std::size_t, cudaStream_t) {
  emulation::Call<Job> call{kernel, static_cast<const Job*>(arguments[0])};
  emulation::launch(
      grid, block,
      [](void* state) {
        const auto& of = *static_cast<emulation::Call<Job>*>(state);
        of.kernel(*of.job);
      },
      &call);
  return cudaSuccess;
}
