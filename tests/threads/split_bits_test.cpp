// SPDX-License-Identifier: Apache-2.0
// The same bytes, guards included, however many tasks a call is cut into and in whatever order they
// run.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/executors.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::CountingExecutor;
using test::Layout;
using test::Tensor;

constexpr std::array concurrencies = {1, 2, 3, 5, 8, 64};
constexpr std::array batches = {1, 3};
constexpr std::array token_counts = {1, 63, 64, 65, 1000};
constexpr std::int64_t head_dim = 10;

struct Example {
  DType dtype;
  Pairing pairing;
  Extents extents;
  Rotations rotations;
};

// Positions without a pattern, so that a row taken for another token shows.
Example make_example(DType dtype, Pairing pairing, std::int64_t batch, std::int64_t tokens) {
  const HeadWindow window{
      .head_dim = head_dim, .rotary_dim = 6, .first_feature = 3, .pairing = pairing};
  std::vector<std::int64_t> positions;
  test::Random random(41);
  for (std::int64_t i = 0; i < batch * tokens; ++i) {
    positions.push_back(random.integer(-1000, 1'000'000));
  }
  return {
      .dtype = dtype,
      .pairing = pairing,
      .extents = {.batch = batch, .tokens = tokens, .heads = 2, .features = head_dim},
      .rotations = test::rotations_of(test::frequencies_of(window, 1.25),
                                      positions_of(std::span<const std::int64_t>(positions), batch),
                                      test::rows_for(dtype))};
}

template <class Visit>
void for_each_example(Visit visit) {
  for (const DType dtype : test::all_dtypes) {
    for (const Pairing pairing : all_pairings) {
      for (const std::int64_t batch : batches) {
        for (const std::int64_t tokens : token_counts) {
          SCOPED_TRACE(test::describe(dtype, pairing, Direction::forward) + ", batch " +
                       std::to_string(batch) + ", tokens " + std::to_string(tokens));
          visit(make_example(dtype, pairing, batch, tokens));
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

// Calls visit(options) for every executor.
template <class Visit>
void for_each_executor(Visit visit) {
  for (const std::int64_t concurrency : concurrencies) {
    SCOPED_TRACE("concurrency " + std::to_string(concurrency));
    for (const test::Run run : {test::run_in_order, test::run_backwards}) {
      CountingExecutor counting(run, concurrency);
      visit(RotateOptions{.executor = counting.executor()});
    }
  }
}

Tensor tensor_of(const Example& example, Layout layout, std::uint64_t seed) {
  return moved_to(layout,
                  test::random_tensor({.dtype = example.dtype, .extents = example.extents}, seed));
}

TEST(SplitBits, SameInPlaceInEveryLayout) {
  for_each_example([](const Example& example) {
    for (const Layout layout : test::all_layouts) {
      SCOPED_TRACE(to_string(layout));
      const Tensor src = tensor_of(example, layout, 42);
      Tensor whole = src;
      test::require(rotate(whole.view(), whole.view(), example.rotations));
      ASSERT_TRUE(whole.guards_intact());
      for_each_executor([&](const RotateOptions& options) {
        Tensor cut = src;
        test::require(rotate(cut.view(), cut.view(), example.rotations, options));
        ASSERT_EQ(cut.bytes(), whole.bytes());
      });
    }
  });
}

// Features that do not turn are copied by the part that they belong to.
TEST(SplitBits, SameOutOfPlace) {
  for_each_example([](const Example& example) {
    for (const Layout layout : {Layout::padded, Layout::heads_last}) {
      SCOPED_TRACE(to_string(layout));
      const Tensor src = tensor_of(example, Layout::reversed_tokens, 43);
      const Tensor empty({.dtype = example.dtype, .extents = example.extents, .layout = layout});
      Tensor whole = empty;
      test::require(rotate(whole.view(), src.view(), example.rotations));
      ASSERT_TRUE(whole.guards_intact());
      for_each_executor([&](const RotateOptions& options) {
        Tensor cut = empty;
        test::require(rotate(cut.view(), src.view(), example.rotations, options));
        ASSERT_EQ(cut.bytes(), whole.bytes());
      });
    }
  });
}

TEST(SplitBits, SameForQueriesAndKeysTogether) {
  for_each_example([](const Example& example) {
    const Tensor src_q = tensor_of(example, Layout::bthd, 44);
    const Tensor src_k = tensor_of(example, Layout::bhtd, 45);
    Tensor whole_q = src_q;
    Tensor whole_k = src_k;
    test::require(rotate_qk(whole_q.view(), whole_k.view(), example.rotations));
    for_each_executor([&](const RotateOptions& options) {
      Tensor q = src_q;
      Tensor k = src_k;
      test::require(rotate_qk(q.view(), k.view(), example.rotations, options));
      ASSERT_EQ(q.bytes(), whole_q.bytes());
      ASSERT_EQ(k.bytes(), whole_k.bytes());
    });
  });
}

TEST(SplitBits, SameForEveryDirectionAndSharedPositions) {
  const HeadWindow window{.head_dim = head_dim, .rotary_dim = head_dim, .pairing = Pairing::half};
  const Rotations rotations = test::rotations_of(test::frequencies_of(window, 1.25),
                                                 ConsecutivePositions{.first = 7, .tokens = 50});
  const Extents extents{.batch = 5, .tokens = 50, .heads = 3, .features = head_dim};
  const Tensor src = test::random_tensor({.extents = extents}, 46);
  for (const Direction direction : test::all_directions) {
    Tensor whole = src;
    test::require(rotate(whole.view(), whole.view(), rotations, {.direction = direction}));
    for_each_executor([&](RotateOptions options) {
      options.direction = direction;
      Tensor cut = src;
      test::require(rotate(cut.view(), cut.view(), rotations, options));
      ASSERT_EQ(cut.bytes(), whole.bytes());
    });
  }
}

}  // namespace
}  // namespace rotary
