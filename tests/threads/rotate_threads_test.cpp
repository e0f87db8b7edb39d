// SPDX-License-Identifier: Apache-2.0
// rotate on several threads gives the bytes of one thread, without a data race, even if adjacent
// parts share a cache line.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

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

TEST(RotateOnThreads, ServesSeveralCallersAtOnce) {
  const Threads threads = test::value_of(Threads::start(concurrency));
  const Rotations rotations = rotations_for(DType::f32, Pairing::half);
  const Tensor src_q = test::random_tensor({.extents = extents}, 72);
  const Tensor src_k = test::random_tensor({.extents = extents}, 73);
  Tensor whole_q = src_q;
  Tensor whole_k = src_k;
  test::require(rotate_qk(whole_q.view(), whole_k.view(), rotations));
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 20; ++repeat) {
        Tensor q = src_q;
        Tensor k = src_k;
        test::require(rotate_qk(q.view(), k.view(), rotations, {.executor = threads.executor()}));
        EXPECT_EQ(q.bytes(), whole_q.bytes());
        EXPECT_EQ(k.bytes(), whole_k.bytes());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace rotary
