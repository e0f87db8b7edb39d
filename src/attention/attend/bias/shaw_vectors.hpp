// SPDX-License-Identifier: Apache-2.0
// Shaw's vectors for the distances that a call of attend() can reach, packed once for all blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/key_limits.hpp"
#include "kernels/attend/attend_kernels.hpp"

namespace rotary {

// Vector i is for distance `first + i` from query to key. The first and last vectors also serve all
// keys farther away.
struct ShawVectors {
  std::int64_t first = 0;
  std::int64_t count = 0;  // 0: none
  const float* packed = nullptr;

  // Vectors that these keys use. Requires at least one key.
  [[nodiscard]] KeyRun met_by(const KeyRun& keys, std::int64_t vector_of_key_0) const noexcept {
    return {std::clamp<std::int64_t>(vector_of_key_0 + keys.begin, 0, count - 1),
            std::clamp<std::int64_t>(vector_of_key_0 + keys.end - 1, 0, count - 1) + 1};
  }
};

struct ShawOfCall {
  ShawVectors keys;
  ShawVectors values;
};

// The vectors that the call can reach, not yet packed. Requires a checked call.
[[nodiscard]] ShawOfCall reached_vectors(const AttendCall& call) noexcept;

// Floats of the packed vectors and of the workspace for packing.
[[nodiscard]] std::size_t packed_floats(const AttendCall& call, const ShawOfCall& shaw) noexcept;

// memory: packed_floats(...), aligned to attend_alignment.
[[nodiscard]] ShawOfCall packed_vectors(const AttendCall& call,
                                        const kernels::AttendKernels& kernels, float* memory,
                                        ShawOfCall shaw) noexcept;

}  // namespace rotary
