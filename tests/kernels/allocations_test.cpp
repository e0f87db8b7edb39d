// SPDX-License-Identifier: Apache-2.0
// The decode step allocates nothing: remake_rotations into rotations that were as large before,
// rotate and rotate_qk. Counted by support/counted_new.cpp.
#include <gtest/gtest.h>

#include <cstddef>

#include "rotary/rotary.hpp"
#include "support/cases.hpp"
#include "support/counted_new.hpp"

namespace rotary {
namespace {

using test::Layout;
using test::Tensor;

// What one call allocates; it must succeed.
template <class Call>
std::size_t allocations_of(Call call) {
  const std::size_t before = test::allocation_count();
  const bool ok = static_cast<bool>(call());
  const std::size_t after = test::allocation_count();
  EXPECT_TRUE(ok);
  return after - before;
}

TEST(Allocations, AreCounted) {
  EXPECT_GT(allocations_of([] {
              return test::random_tensor({.extents = {.tokens = 1, .heads = 1, .features = 2}}, 40)
                  .guards_intact();
            }),
            0U);
}

TEST(Allocations, OfTheDecodeStepAreNone) {
  for (const Pairing pairing : test::all_pairings) {
    const HeadWindow window{
        .head_dim = 50, .rotary_dim = 42, .first_feature = 3, .pairing = pairing};
    const Frequencies frequencies = test::frequencies_of(window, 1.25);
    Rotations rotations =
        test::rotations_of(frequencies, ConsecutivePositions{.first = 0, .tokens = 4});
    EXPECT_EQ(allocations_of([&] {
                return remake_rotations(rotations, frequencies,
                                        ConsecutivePositions{.first = 9, .tokens = 3});
              }),
              0U);
    for (const DType dtype : test::all_dtypes) {
      for (const Layout layout : test::all_layouts) {
        SCOPED_TRACE(to_string(layout));
        const Extents extents{.tokens = 3, .heads = 5, .features = 50};
        Tensor q = moved_to(layout, test::random_tensor({.dtype = dtype, .extents = extents}, 38));
        Tensor k = moved_to(layout, test::random_tensor({.dtype = dtype, .extents = extents}, 39));
        EXPECT_EQ(allocations_of([&] { return rotate_qk(q.view(), k.view(), rotations); }), 0U);
        EXPECT_EQ(allocations_of([&] { return rotate(q.view(), k.view(), rotations); }), 0U);
      }
    }
  }
}

}  // namespace
}  // namespace rotary
