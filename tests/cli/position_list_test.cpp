// SPDX-License-Identifier: Apache-2.0
// Positions on the command line may be any int64. Too many are refused before any allocation.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/failure.hpp"
#include "cli/arguments.hpp"

namespace rotary::cli {
namespace {

constexpr std::uint64_t room = std::uint64_t{1} << 22;  // numbers that fit without a file
const std::optional<std::string> no_file;

std::vector<std::int64_t> parsed(std::string_view text,
                                 const AnswerSize& answer = {room / 100, no_file}) {
  return PositionList("--positions", text).numbers(answer);
}

std::string refusal_of(std::string_view text, const AnswerSize& answer = {room / 100, no_file}) {
  try {
    static_cast<void>(parsed(text, answer));
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::usage);
    return failure.what();
  }
  ADD_FAILURE() << text << " was accepted";
  return {};
}

TEST(PositionList, RefusesMalformedLists) {
  for (const std::string_view text :
       {"", ",", "1,", "a", "1.5", "0x10", "1 2", "1:", ":1", "1:2:3", "9223372036854775808",
        "-9223372036854775809", "1e3", "--1"}) {
    EXPECT_NE(refusal_of(text).find("must be an integer"), std::string::npos) << text;
  }
}

TEST(PositionList, RefusesEmptyRanges) {
  EXPECT_NE(refusal_of("3:3").find("START < STOP, got '3:3'"), std::string::npos);
  EXPECT_NE(refusal_of("4:3").find("START < STOP"), std::string::npos);
  for (const std::string_view range : {"0-16", " -4-4", "0..16"})
    EXPECT_NE(refusal_of(range).find("integer or START:STOP, "), std::string::npos) << range;
}

TEST(PositionList, TheSizeOfTheAnswerLimitsTheNumberOfPositions) {
  const std::optional<std::string> file = "a.npy";
  constexpr std::string_view all = "-9223372036854775808:9223372036854775807";
  const std::string twice = std::string(all) + "," + std::string(all);
  EXPECT_EQ(parsed("0:100").size(), 100u);
  for (const auto text : std::vector<std::string_view>{"0:101", "0:60,0:41", all})
    EXPECT_NE(refusal_of(text).find("at most 100 here"), std::string::npos) << text;
  EXPECT_EQ(parsed("0:5", {room / 4, file}).size(), 5u);
  for (const std::string_view text : {all, std::string_view(twice)})
    EXPECT_NE(refusal_of(text, {1, file}).find("at most 268435456 here"), std::string::npos);
  EXPECT_NE(refusal_of("7", {room << 18, no_file}).find("at most 0 here"), std::string::npos);
}

}  // namespace
}  // namespace rotary::cli
