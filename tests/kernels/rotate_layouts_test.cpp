// SPDX-License-Identifier: Apache-2.0
// Every layout to every layout, in and out of place, for every dtype, pairing and direction: right
// values, guards intact, source untouched. Odd token and head counts.
#include <gtest/gtest.h>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Layout;
using test::Tensor;

constexpr Extents extents{.batch = 2, .tokens = 5, .heads = 3, .features = 46};
constexpr ConsecutivePositions positions{.first = 1000, .tokens = 5};

HeadWindow window_with(Pairing pairing) {
  return {.head_dim = 46, .rotary_dim = 38, .first_feature = 2, .pairing = pairing};
}

// Visits dtype x pairing x direction with a random source in bthd.
template <class Visit>
void for_each_case(Visit visit) {
  for (const Pairing pairing : all_pairings) {
    const Frequencies frequencies = test::frequencies_of(window_with(pairing), 1.25);
    const test::Oracle oracle(frequencies, positions);
    for (const DType dtype : test::all_dtypes) {
      const Rotations rotations = test::rotations_of(frequencies, positions, test::rows_for(dtype));
      const Tensor src = test::random_tensor({.dtype = dtype, .extents = extents}, 3);
      for (const Direction direction : test::all_directions) {
        SCOPED_TRACE(test::describe(dtype, pairing, direction));
        visit(src, rotations, oracle, direction);
      }
    }
  }
}

TEST(RotateLayouts, OutOfPlaceFromEveryLayoutToEveryLayout) {
  for_each_case([](const Tensor& values, const Rotations& rotations, const test::Oracle& oracle,
                   Direction direction) {
    for (const Layout from : test::all_layouts) {
      for (const Layout to : test::all_layouts) {
        SCOPED_TRACE(std::string(to_string(from)) + " to " + std::string(to_string(to)));
        const Tensor src = moved_to(from, values);
        const auto src_bytes = src.bytes();
        Tensor dst({.dtype = values.view().dtype, .extents = extents, .layout = to});
        test::require(rotate(dst.view(), src.view(), rotations, {.direction = direction}));
        ASSERT_TRUE(oracle.accepts(dst.view(), src.view(), direction));
        ASSERT_TRUE(dst.guards_intact());
        ASSERT_EQ(src.bytes(), src_bytes);
      }
    }
  });
}

TEST(RotateLayouts, InPlaceInEveryLayout) {
  for_each_case([](const Tensor& values, const Rotations& rotations, const test::Oracle& oracle,
                   Direction direction) {
    for (const Layout layout : test::all_layouts) {
      SCOPED_TRACE(to_string(layout));
      const Tensor src = moved_to(layout, values);
      Tensor dst = src;
      test::require(rotate(dst.view(), dst.view(), rotations, {.direction = direction}));
      ASSERT_TRUE(oracle.accepts(dst.view(), src.view(), direction));
      ASSERT_TRUE(dst.guards_intact());
    }
  });
}

// One buffer [tokens, 3, heads, features]: k's rotation goes into q's slot. Slots interleave in
// memory and share nothing.
TEST(RotateLayouts, BetweenSlotsOfOneFusedBuffer) {
  const HeadWindow window = window_with(Pairing::half);
  const Frequencies frequencies = test::frequencies_of(window);
  const test::Oracle oracle(frequencies, positions);
  constexpr std::int64_t slot = 3 * 46;  // heads * features
  std::vector<float> buffer(static_cast<std::size_t>(2 * 5 * 3 * slot));
  test::Random random(4);
  for (float& value : buffer) value = random.activation();
  const std::vector<float> before = buffer;

  const Strides strides{.batch = 5 * 3 * slot, .token = 3 * slot, .head = 46};
  const HeadsView q{buffer.data(), DType::f32, extents, strides};
  const HeadsView k{buffer.data() + slot, DType::f32, extents, strides};
  test::require(rotate(q, k, test::rotations_of(frequencies, positions)));
  EXPECT_TRUE(oracle.accepts(q, k, Direction::forward));
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    const bool in_q = i / static_cast<std::size_t>(slot) % 3 == 0;
    if (in_q) continue;
    ASSERT_EQ(buffer[i], before[i]) << "element " << i << " is outside q";
  }
}

// A source that repeats one head for all (stride 0) is legal to read.
TEST(RotateLayouts, ReadsABroadcastSource) {
  const Frequencies frequencies = test::frequencies_of(window_with(Pairing::interleaved));
  const test::Oracle oracle(frequencies, positions);
  const Tensor one_head = test::random_tensor(
      {.dtype = DType::f32, .extents = {.batch = 2, .tokens = 5, .heads = 1, .features = 46}}, 5);
  ConstHeadsView src = one_head.view();
  src.extents.heads = 3;
  src.strides.head = 0;
  Tensor dst({.dtype = DType::f32, .extents = extents});
  test::require(rotate(dst.view(), src, test::rotations_of(frequencies, positions)));
  EXPECT_TRUE(oracle.accepts(dst.view(), src, Direction::forward));
}

TEST(RotateLayouts, NothingToDoSucceeds) {
  const Frequencies frequencies = test::frequencies_of(window_with(Pairing::half));
  for (const Extents empty : {Extents{0, 5, 3, 46}, Extents{2, 5, 0, 46}, Extents{0, 5, 0, 46}}) {
    const HeadsView view{nullptr, DType::f32, empty, strides_bthd(empty)};
    EXPECT_TRUE(rotate(view, view, test::rotations_of(frequencies, positions)));
  }
  const Extents no_tokens{2, 0, 3, 46};
  const HeadsView view{nullptr, DType::bf16, no_tokens, strides_bthd(no_tokens)};
  EXPECT_TRUE(rotate(view, view, test::rotations_of(frequencies, ConsecutivePositions{})));
}

}  // namespace
}  // namespace rotary
