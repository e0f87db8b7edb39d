// SPDX-License-Identifier: Apache-2.0
// With an unknown ROTARY_INSTRUCTION_SET every operation is an error. A program can then choose a
// known set. This is a single test, because a process reads the variable at first use.
#include <gtest/gtest.h>

#include <cstdlib>

#include "rotary/rotary.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

TEST(Environment, AnUnknownInstructionSetIsAnError) {
  ASSERT_EQ(setenv("ROTARY_INSTRUCTION_SET", "NO_SUCH_SET", 1), 0);
  const auto window = HeadWindow{
      .head_dim = 4, .rotary_dim = 4, .first_feature = 0, .pairing = Pairing::interleaved};
  const auto frequencies = test::value_of(make_frequencies(window, {1, 0.01}, 1));
  const auto best = supported_instruction_sets().front();

  test::refused(instruction_set(), {"ROTARY_INSTRUCTION_SET", "NO_SUCH_SET", best},
                ErrorCode::unsupported);
  const ConsecutivePositions positions{.first = 3, .tokens = 1};
  test::refused(make_rotations(frequencies, positions), {"ROTARY_INSTRUCTION_SET", "NO_SUCH_SET"},
                ErrorCode::unsupported);

  ASSERT_EQ(unsetenv("ROTARY_INSTRUCTION_SET"), 0);
  test::require(force_instruction_set(best));
  EXPECT_EQ(test::value_of(instruction_set()), best);
  EXPECT_TRUE(make_rotations(frequencies, positions));
}

}  // namespace
}  // namespace rotary
