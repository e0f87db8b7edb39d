// SPDX-License-Identifier: Apache-2.0
// The decode step in C allocates nothing, and a failed allocation is an error. Counted by
// support/counted_new.cpp.
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "rotary/rotary.h"
#include "support/counted_new.hpp"

namespace rotary {
namespace {

struct Step {
  std::array<float, 256> elements{};
  rotary_frequencies* frequencies = nullptr;
  rotary_rotations* rotations = nullptr;
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  rotary_heads_view q = ROTARY_HEADS_VIEW_INIT;
  rotary_heads_view k = ROTARY_HEADS_VIEW_INIT;

  Step() {
    constexpr std::string_view spec = R"({"head_dim": 16, "base": 10000, "pairing": "half"})";
    EXPECT_EQ(rotary_frequencies_of_spec(spec.data(), spec.size(), &frequencies), ROTARY_OK);
    positions.tokens = 4;
    EXPECT_EQ(rotary_rotations_make(frequencies, &positions, nullptr, &rotations), ROTARY_OK);
    q.data = elements.data();
    q.dtype = ROTARY_F32;
    q.extents[1] = 3;
    q.extents[2] = 2;
    q.extents[3] = 16;
    q.strides[1] = 32;
    q.strides[2] = 16;
    k = q;
    k.data = elements.data() + 128;
  }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  ~Step() {
    rotary_rotations_free(rotations);
    rotary_frequencies_free(frequencies);
  }
};

template <class Call>
std::size_t allocations_of(Call call) {
  const std::size_t before = test::allocation_count();
  const rotary_status status = call();
  const std::size_t after = test::allocation_count();
  EXPECT_EQ(status, ROTARY_OK) << rotary_last_error();
  return after - before;
}

TEST(CAllocations, OfTheDecodeStepAreNone) {
  Step step;
  step.positions.first = 90;
  step.positions.tokens = 3;
  rotary_rotate_options options = ROTARY_ROTATE_OPTIONS_INIT;
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  options.executor = &executor;
  EXPECT_EQ(allocations_of([&] {
              return rotary_rotations_remake(step.rotations, step.frequencies, &step.positions);
            }),
            0U);
  EXPECT_EQ(
      allocations_of([&] { return rotary_rotate(&step.q, &step.k, step.rotations, &options); }),
      0U);
  EXPECT_EQ(
      allocations_of([&] { return rotary_rotate_qk(&step.q, &step.k, step.rotations, nullptr); }),
      0U);
}

TEST(CAllocations, AreCounted) {
  Step step;
  rotary_rotations* made = nullptr;
  EXPECT_GT(allocations_of([&] {
              return rotary_rotations_make(step.frequencies, &step.positions, nullptr, &made);
            }),
            0U);
  rotary_rotations_free(made);
}

// The rows of 2^54 tokens do not overflow, but no machine has the memory.
TEST(CAllocations, ThatCannotBeAreAnError) {
  Step step;
  rotary_rotations* made = step.rotations;
  step.positions.tokens = std::int64_t{1} << 54;
  EXPECT_EQ(rotary_rotations_make(step.frequencies, &step.positions, nullptr, &made),
            ROTARY_OUT_OF_MEMORY);
  EXPECT_EQ(made, nullptr);
  EXPECT_STREQ(rotary_last_error(), "out of memory");
}

}  // namespace
}  // namespace rotary
