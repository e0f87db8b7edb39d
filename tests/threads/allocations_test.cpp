// SPDX-License-Identifier: Apache-2.0
// A split call allocates nothing, nor do the threads that run its parts. support/counted_new.cpp
// counts allocations.
#include <gtest/gtest.h>

#include <cstddef>

#include "rotary/rotate.hpp"
#include "rotary/threads.hpp"
#include "support/cases.hpp"
#include "support/counted_new.hpp"
#include "support/executors.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Layout;
using test::Tensor;

TEST(AllocationsOfThreads, ASplitCallMakesNone) {
  const Threads threads = test::value_of(Threads::start(3));
  test::CountingExecutor in_order(test::run_in_order, 8);
  const HeadWindow window{
      .head_dim = 50, .rotary_dim = 42, .first_feature = 3, .pairing = Pairing::half};
  const Rotations rotations = test::rotations_of(test::frequencies_of(window),
                                                 ConsecutivePositions{.first = 4, .tokens = 200});
  const Extents extents{.tokens = 200, .heads = 2, .features = 50};
  for (const Layout layout : test::all_layouts) {
    SCOPED_TRACE(to_string(layout));
    Tensor q = moved_to(layout, test::random_tensor({.extents = extents}, 60));
    Tensor k = moved_to(layout, test::random_tensor({.extents = extents}, 61));
    for (const Executor& executor : {threads.executor(), in_order.executor()}) {
      const std::size_t before = test::allocation_count();
      const bool ok = rotate_qk(q.view(), k.view(), rotations, {.executor = executor}) &&
                      rotate(q.view(), k.view(), rotations, {.executor = executor});
      const std::size_t after = test::allocation_count();
      EXPECT_TRUE(ok);
      EXPECT_EQ(after - before, 0U);
    }
  }
  EXPECT_EQ(in_order.tasks(), 6);
}

}  // namespace
}  // namespace rotary
