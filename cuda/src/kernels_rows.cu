// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"
#include "rows.cuh"

namespace rotary::cuda {
namespace {

// One thread for each pair of each token.
__global__ void rows_kernel(const __grid_constant__ RowsJob job) {
  const std::int64_t count = job.batch * job.tokens * job.pairs;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    const std::int64_t row = i / job.pairs;
    const auto pair = static_cast<int>(i % job.pairs);
    const Token at{static_cast<std::uint32_t>(row / job.tokens),
                   static_cast<std::uint32_t>(row % job.tokens)};
    const CosSin<float> made = row_at(job.rows, at, pair, job.pairs);
    const std::int64_t to =
        at.batch * job.batch_stride + at.token * job.token_stride + pair * job.pair_stride;
    job.cos[to] = made.cos;
    job.sin[to] = made.sin;
  }
}

}  // namespace

RowsKernel kernel_of_rows() noexcept { return rows_kernel; }

}  // namespace rotary::cuda
