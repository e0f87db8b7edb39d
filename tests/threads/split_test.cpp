// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <vector>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/executors.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::CountingExecutor;
using test::Tensor;

constexpr std::int64_t head_dim = 4;

Rotations rotations_of(std::int64_t tokens) {
  const HeadWindow window{.head_dim = head_dim, .rotary_dim = head_dim, .pairing = Pairing::half};
  return test::rotations_of(test::frequencies_of(window),
                            ConsecutivePositions{.first = 5, .tokens = tokens});
}

Extents extents_of(std::int64_t batch, std::int64_t tokens) {
  return {.batch = batch, .tokens = tokens, .heads = 2, .features = head_dim};
}

// The number of tasks into which rotate_qk splits these tokens; 0 if it does not call the executor.
std::int64_t tasks_for(std::int64_t batch, std::int64_t tokens, std::int64_t concurrency) {
  CountingExecutor counting(test::run_in_order, concurrency);
  Tensor q = test::random_tensor({.extents = extents_of(batch, tokens)}, 50);
  Tensor k = test::random_tensor({.extents = extents_of(batch, tokens)}, 51);
  test::require(
      rotate_qk(q.view(), k.view(), rotations_of(tokens), {.executor = counting.executor()}));
  EXPECT_LE(counting.calls(), 1);
  return counting.tasks();
}

// Parts have at least 32 tokens, of all batch rows together. There is at most one for each thread.
TEST(Split, MakesAsManyTasksAsTokensAndConcurrencyAllow) {
  struct Case {
    std::int64_t batch, tokens, concurrency, tasks;
  };
  for (const Case& each : std::vector<Case>{
           {1, 0, 8, 0},    {0, 100, 8, 0},    {1, 1, 8, 0},     {1, 63, 8, 0},
           {63, 1, 8, 0},   {9, 7, 8, 0},      {64, 1, 8, 2},    {2, 32, 8, 2},
           {3, 1000, 8, 8}, {1, 64, 8, 2},     {1, 65, 8, 2},    {1, 95, 8, 2},
           {1, 96, 8, 3},   {1, 1000, 64, 31}, {1, 1000, 2, 2},  {1, 1000, 7, 7},
           {1, 1000, 1, 0}, {1, 1000, 0, 0},   {1, 1000, -3, 0}, {1, 1000, INT64_MAX, 31}}) {
    EXPECT_EQ(tasks_for(each.batch, each.tokens, each.concurrency), each.tasks)
        << each.batch << " " << each.tokens << " " << each.concurrency;
  }
}

TEST(Split, RunsOnTheCallingThreadWithoutAnExecutor) {
  Tensor whole = test::random_tensor({.extents = extents_of(1, 100)}, 52);
  Tensor cut = whole;
  test::require(rotate(whole.view(), whole.view(), rotations_of(100)));
  test::require(
      rotate(cut.view(), cut.view(), rotations_of(100), {.executor = {.concurrency = 8}}));
  EXPECT_EQ(cut.bytes(), whole.bytes());
}

// If one extent is 0, the product of the others may overflow.
TEST(Split, EmptyViewsAreNotSplit) {
  CountingExecutor counting(test::run_in_order, 8);
  HeadsView empty;
  empty.dtype = DType::f32;
  empty.extents = {.batch = std::int64_t{1} << 62, .tokens = 100, .heads = 0, .features = head_dim};
  const RotateOptions options{.executor = counting.executor()};
  test::require(rotate(empty, empty, rotations_of(100), options));
  test::require(rotate_qk(empty, empty, rotations_of(100), options));
  EXPECT_EQ(counting.calls(), 0);
}

TEST(Split, KeysWithoutQueriesAreSplit) {
  CountingExecutor counting(test::run_in_order, 8);
  Tensor whole = test::random_tensor({.extents = extents_of(1, 100)}, 53);
  Tensor cut = whole;
  HeadsView no_queries;
  no_queries.dtype = DType::f32;
  no_queries.extents = {.tokens = 100, .heads = 0, .features = head_dim};
  test::require(rotate(whole.view(), whole.view(), rotations_of(100)));
  test::require(
      rotate_qk(no_queries, cut.view(), rotations_of(100), {.executor = counting.executor()}));
  EXPECT_EQ(counting.tasks(), 3);
  EXPECT_EQ(cut.bytes(), whole.bytes());
}

TEST(Split, ErrorsCallNoExecutor) {
  CountingExecutor counting(test::run_in_order, 8);
  Tensor tensor = test::random_tensor({.extents = extents_of(1, 100)}, 54);
  test::refused(
      rotate(tensor.view(), tensor.view(), rotations_of(99), {.executor = counting.executor()}),
      {"src", "99", "100"});
  EXPECT_EQ(counting.calls(), 0);
}

// Breaks the executor's contract by running a single task, to show which tokens the task rotates.
struct OnlyTask {
  std::int64_t index;
  std::int64_t count = 0;

  Executor executor(std::int64_t concurrency) noexcept {
    return {.context = this,
            .run =
                [](void* context, std::int64_t tasks, ExecutorTask task, void* state) {
                  auto& self = *static_cast<OnlyTask*>(context);
                  self.count = tasks;
                  task(state, self.index);
                },
            .concurrency = concurrency};
  }
};

// The changed tokens, numbered over all batch rows.
std::vector<std::int64_t> changed_tokens(const Tensor& before, const Tensor& after) {
  std::vector<std::int64_t> changed;
  test::for_each_element(before.extents(), [&](const test::HeadIndex& index, std::int64_t f) {
    const std::int64_t token = index.batch * before.extents().tokens + index.token;
    if (before.bits_at(index, f) != after.bits_at(index, f) &&
        (changed.empty() || changed.back() != token)) {
      changed.push_back(token);
    }
  });
  return changed;
}

// Runs each task alone. Expects consecutive tokens in order, counts that differ by at most one, and
// the same tokens of q and k.
void expect_partition(const Extents& extents, std::int64_t concurrency) {
  const Tensor before_q = test::random_tensor({.extents = extents}, 55);
  const Tensor before_k = test::random_tensor({.extents = extents}, 56);
  const std::int64_t tokens = extents.batch * extents.tokens;
  std::int64_t count = 1;
  std::int64_t next_token = 0;
  for (std::int64_t index = 0; index < count; ++index) {
    OnlyTask only{.index = index};
    Tensor q = before_q;
    Tensor k = before_k;
    test::require(rotate_qk(q.view(), k.view(), rotations_of(extents.tokens),
                            {.executor = only.executor(concurrency)}));
    count = only.count;
    const auto changed = changed_tokens(before_q, q);
    EXPECT_EQ(changed_tokens(before_k, k), changed);
    const auto length = static_cast<std::int64_t>(changed.size());
    EXPECT_GE(length, 32);
    EXPECT_GE(length, tokens / count);
    EXPECT_LE(length, tokens / count + 1);
    for (const std::int64_t token : changed) ASSERT_EQ(token, next_token++) << "task " << index;
  }
  EXPECT_GT(count, 1);
  EXPECT_EQ(next_token, tokens);
}

TEST(Split, PartsHoldEachTokenOnce) {
  for (const std::int64_t concurrency : {2, 3, 5, 8, 64}) {
    for (const std::int64_t tokens : {64, 65, 97, 1000}) {
      SCOPED_TRACE(tokens);
      expect_partition(extents_of(1, tokens), concurrency);
    }
    expect_partition(extents_of(3, 65), concurrency);
    expect_partition(extents_of(70, 1), concurrency);
    expect_partition(extents_of(7, 31), concurrency);
  }
}

TEST(SplitDeathTest, AnExecutorThatThrowsEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Tensor tensor = test::random_tensor({.extents = extents_of(1, 100)}, 57);
  const auto run = [](void*, std::int64_t, ExecutorTask, void*) { throw std::bad_alloc(); };
  EXPECT_DEATH(static_cast<void>(rotate(tensor.view(), tensor.view(), rotations_of(100),
                                        {.executor = {.run = run, .concurrency = 8}})),
               "bad_alloc");
}

}  // namespace
}  // namespace rotary
