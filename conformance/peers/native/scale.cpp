// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include "bench/scale/scale_in_place.hpp"
#include "conformance/peers/native/peers.h"
#include "rotary/rotary.h"
#include "rotary/rotary_threads.h"

namespace {

// The floats of q or of k.
struct Part {
  float* data;
  std::size_t count;
};

struct Scale {
  std::array<Part, 2> tensors;
  std::int64_t parts;
  rotary_threads* threads = nullptr;
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
};

void scale_part(void* state, std::int64_t index) {
  const auto* const scale = static_cast<const Scale*>(state);
  const auto parts = static_cast<std::size_t>(scale->parts);
  const auto part = static_cast<std::size_t>(index);
  // volatile, so the compiler keeps the multiplication.
  const volatile float one = 1;
  for (const Part& tensor : scale->tensors) {
    const std::size_t first = tensor.count * part / parts;
    const std::size_t end = tensor.count * (part + 1) / parts;
    rotary::bench::scale_in_place(tensor.data + first, end - first, one);
  }
}

Part part_of(const peers_job& job, void* data, std::int64_t heads) {
  const std::int64_t bytes_of_dtype = job.dtype == ROTARY_F32 ? 4 : 2;
  const std::int64_t bytes = job.tokens * heads * job.head_dim * bytes_of_dtype;
  return {static_cast<float*>(data), static_cast<std::size_t>(bytes / 4)};
}

}  // namespace

void* peers_scale_make(const peers_job* job) {
  auto* const scale = new (std::nothrow) Scale{
      .tensors = {part_of(*job, job->q, job->query_heads), part_of(*job, job->k, job->key_heads)},
      .parts = job->threads};
  if (scale == nullptr || job->threads < 2) return scale;
  if (rotary_threads_start(job->threads, &scale->threads) == ROTARY_OK &&
      rotary_threads_executor(scale->threads, &scale->executor) == ROTARY_OK) {
    return scale;
  }
  peers_scale_free(scale);
  return nullptr;
}

std::int64_t peers_scale_time(void* made, std::int64_t calls) {
  auto* const scale = static_cast<Scale*>(made);
  const std::int64_t start = nanoseconds_now();
  for (std::int64_t call = 0; call < calls; ++call) {
    if (scale->parts < 2) {
      scale_part(scale, 0);
    } else {
      scale->executor.run(scale->executor.context, scale->parts, scale_part, scale);
    }
  }
  return nanoseconds_now() - start;
}

void peers_scale_free(void* made) {
  auto* const scale = static_cast<Scale*>(made);
  if (scale == nullptr) return;
  rotary_threads_stop(scale->threads);
  delete scale;
}
