// SPDX-License-Identifier: Apache-2.0
// Frequencies in device memory, and the parts of a job that make cos/sin rows from them.
#pragma once

#include <cstdint>

#include "device.hpp"
#include "job.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotary_cuda.h"
#include "rotary/rotate.hpp"

struct rotary_cuda_frequencies {
  rotary::HeadWindow window;
  std::int64_t axes;
  bool dense;
  double attention_factor;
  rotary::ContextRange contexts;
  int device;
  rotary::cuda::DeviceMemory memory;  // holds the three arrays below
  const std::uint64_t* turns;
  const double* steps;
  const std::int32_t* pair_axes;  // null: one axis, or dense
};

namespace rotary::cuda {

// Positions of a call's tokens, and the frequencies of their rotation.
struct At {
  const rotary_cuda_frequencies& frequencies;
  Positions positions;
};

[[nodiscard]] Result<rotary_cuda_frequencies> upload(const Frequencies& frequencies);

// Checks everything except the contents of device memory.
[[nodiscard]] Status check(const At& at);

[[nodiscard]] TokenNumbers numbers_of(const Positions& positions);

// Requires a successful check().
[[nodiscard]] Rows rows_at(const At& at);
[[nodiscard]] Rows rows_between(const At& from, const At& to);

// Sets cos_scale and sin_scale. cos and sin already contain the attention factor.
void set_scales(Rows& rows, Direction direction, double attention_factor);

[[nodiscard]] Window window_of(const HeadWindow& window, Direction direction);

}  // namespace rotary::cuda
