// SPDX-License-Identifier: Apache-2.0
// Calls in C allocate nothing, also if threads run their parts. Rows that no machine has memory for
// are an error.
#include <gtest/gtest.h>

#include "public_calls/c_call.hpp"
#include "rotary/rotary_threads.h"
#include "support/counted_new.hpp"

namespace rotary::test {
namespace {

rotary_status make_rotations_for(std::int64_t tokens, rotary_rotations** out) {
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  positions.tokens = tokens;
  return rotary_rotations_make(c_frequencies(), &positions, nullptr, out);
}

// The number of allocations of one call, which must succeed.
template <class Call>
std::size_t allocations_of(Call call) {
  const std::size_t before = allocation_count();
  const rotary_status status = call();
  const std::size_t after = allocation_count();
  EXPECT_EQ(status, ROTARY_OK) << rotary_last_error();
  return after - before;
}

constexpr std::int64_t token_count = 200;  // enough for a part for each thread

Outcome expect_no_allocations(rotary_rotations* rotations) {
  rotary_positions next = ROTARY_POSITIONS_INIT;
  next.first = 90;
  next.tokens = token_count;
  rotary_rotate_options options = ROTARY_ROTATE_OPTIONS_INIT;
  rotary_executor executor = ROTARY_EXECUTOR_INIT;
  rotary_threads* threads = nullptr;
  EXPECT_EQ(rotary_threads_start(3, &threads), ROTARY_OK);
  EXPECT_EQ(rotary_threads_executor(threads, &executor), ROTARY_OK);
  options.executor = &executor;
  const rotary_heads_view q = c_view({1, token_count, 2, 16});
  const rotary_heads_view k = c_view({1, token_count, 2, 16});
  const auto remake = [&] { return rotary_rotations_remake(rotations, c_frequencies(), &next); };
  EXPECT_EQ(allocations_of(remake), 0U);
  EXPECT_EQ(allocations_of([&] { return rotary_rotate(&q, &k, rotations, &options); }), 0U);
  EXPECT_EQ(allocations_of([&] { return rotary_rotate_qk(&q, &k, rotations, nullptr); }), 0U);
  rotary_threads_stop(threads);
  return {};
}

TEST(CAllocations, RemakingAndRotatingAllocateNothing) {
  begin_operands();
  const Outcome outcome = with_made<rotary_rotations>(
      [](rotary_rotations** out) {
        EXPECT_GT(allocations_of([out] { return make_rotations_for(token_count, out); }), 0U);
        return ROTARY_OK;
      },
      expect_no_allocations);
  EXPECT_FALSE(outcome.error);
}

// The byte count of 2^54 rows does not overflow, but no machine has the memory.
TEST(CAllocations, AnImpossibleAllocationIsAnError) {
  const Outcome outcome = outcome_of_making<rotary_rotations>(
      [](rotary_rotations** out) { return make_rotations_for(std::int64_t{1} << 54, out); });
  EXPECT_EQ(outcome.error, ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace rotary::test
