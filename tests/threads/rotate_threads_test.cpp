// SPDX-License-Identifier: Apache-2.0
// rotate on several threads gives the bytes of one thread, without a data race, even if adjacent
// parts share a cache line.
#include <gtest/gtest.h>

#include <cstdint>

#include "rotary/rotate.hpp"
#include "rotary/threads.hpp"
#include "support/cases.hpp"
#include "support/executors.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::Layout;
using test::Tensor;

// Four parts of 48 or 49 tokens. They meet within batch rows, not between them.
constexpr std::int64_t concurrency = 4;
constexpr Extents extents{.batch = 3, .tokens = 65, .heads = 2, .features = 22};

Rotations rotations_for(DType dtype, Pairing pairing) {
  const HeadWindow window{
      .head_dim = extents.features, .rotary_dim = 18, .first_feature = 3, .pairing = pairing};
  return test::rotations_of(
      test::frequencies_of(window, 1.25),
      ConsecutivePositions{.first = std::int64_t{1} << 40, .tokens = extents.tokens},
      test::rows_for(dtype));
}

void expect_same_bytes(const Executor& executor, const Tensor& src, const Rotations& rotations) {
  Tensor whole = src;
  test::require(rotate(whole.view(), whole.view(), rotations));
  Tensor cut = src;
  test::require(rotate(cut.view(), cut.view(), rotations, {.executor = executor}));
  ASSERT_EQ(cut.bytes(), whole.bytes());

  Tensor whole_copy = test::random_tensor({.dtype = src.view().dtype, .extents = extents}, 71);
  Tensor cut_copy = whole_copy;
  test::require(rotate(whole_copy.view(), src.view(), rotations));
  test::require(rotate(cut_copy.view(), src.view(), rotations, {.executor = executor}));
  ASSERT_EQ(cut_copy.bytes(), whole_copy.bytes());
}

TEST(RotateOnThreads, GivesTheBytesOfOneThread) {
  const Threads threads = test::value_of(Threads::start(concurrency));
  test::CountingExecutor other_threads(test::run_on_other_threads, concurrency);
  for (const DType dtype : test::all_dtypes) {
    for (const Pairing pairing : all_pairings) {
      const Rotations rotations = rotations_for(dtype, pairing);
      const Tensor src = test::random_tensor({.dtype = dtype, .extents = extents}, 70);
      for (const Layout layout : test::all_layouts) {
        SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward));
        SCOPED_TRACE(to_string(layout));
        expect_same_bytes(threads.executor(), moved_to(layout, src), rotations);
        expect_same_bytes(other_threads.executor(), moved_to(layout, src), rotations);
      }
    }
  }
  EXPECT_EQ(other_threads.tasks(), concurrency);
}

}  // namespace
}  // namespace rotary
