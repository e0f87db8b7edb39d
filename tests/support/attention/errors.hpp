// SPDX-License-Identifier: Apache-2.0
// Shared setup for tests of the errors of attend().
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "rotary/attention.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary::test {

inline constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t lowest = -highest - 1;
inline constexpr std::int64_t huge = std::int64_t{1} << 40;
inline constexpr Extents q_extents{.batch = 2, .tokens = 3, .heads = 4, .features = 6};
inline constexpr Extents k_extents{.batch = 2, .tokens = 5, .heads = 2, .features = 6};
inline constexpr Extents v_extents{.batch = 2, .tokens = 5, .heads = 2, .features = 7};
inline constexpr Extents out_extents{.batch = 2, .tokens = 3, .heads = 4, .features = 7};
inline constexpr ScoresExtents sums_extents{.batch = 2, .heads = 4, .queries = 3, .keys = 1};

inline Rotations rotations_for(std::int64_t head_dim, std::int64_t tokens,
                               Pairing pairing = Pairing::half) {
  const HeadWindow window{.head_dim = head_dim, .rotary_dim = 4, .pairing = pairing};
  return rotations_of(frequencies_of(window), ConsecutivePositions{0, tokens});
}

// A valid call. A test changes one thing about it.
struct AttendCall {
  Tensor q_tensor = random_tensor({.extents = q_extents}, 1);
  Tensor k_tensor = random_tensor({.extents = k_extents}, 2);
  Tensor v_tensor = random_tensor({.extents = v_extents}, 3);
  Tensor out_tensor = random_tensor({.extents = out_extents}, 4);
  std::vector<float> sums = std::vector<float>(24, 5.0F);
  HeadsView q = q_tensor.view();
  HeadsView k = k_tensor.view();
  HeadsView v = v_tensor.view();
  HeadsView out = out_tensor.view();
  AttendOptions options{
      .scale = 0.4,
      .mask = {.order = AttentionOrder::causal},
      .log_sum_exp = ScoresView{sums.data(), DType::f32, sums_extents, strides_bhqk(sums_extents)}};
  std::vector<AttentionSequence> sequences = {{0, 0, 3, 0, 4, 1, 0}, {1, 0, 2, 0, 5, 3, 0}};
  // k and v as two blocks of 5 slots.
  std::vector<std::int32_t> blocks = {1, 0};
  PagedKeys pages{.k = k, .v = v, .table = {blocks.data(), 2, 1, 1}};

  [[nodiscard]] auto written() const { return std::pair(out_tensor.bytes(), sums); }
  [[nodiscard]] Status run() const {
    auto status = attend(out, q, k, v, options);
    // attend_bytes() does not take outputs. If it fails, attend() must give the same error.
    const auto bytes = attend_bytes(q, k, v, options);
    if (!bytes) refused(status, {bytes.error().message}, bytes.error().code);
    return status;
  }
};

struct PagedAttendCall : AttendCall {
  PagedAttendCall() { options.sequences = sequences; }
  [[nodiscard]] Status run() const { return attend(out, q, pages, options); }
};

// `bytes` bytes of `room`, from its first multiple of 64 bytes on.
inline std::span<std::byte> aligned_part(std::vector<std::byte>& room, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(room.data());
  return std::span(room).subspan((64 - address % 64) % 64, bytes);
}

using AttendErrors = Refusals<AttendCall>;
using PagedAttendErrors = Refusals<PagedAttendCall>;

}  // namespace rotary::test
