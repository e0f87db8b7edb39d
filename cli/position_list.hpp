// SPDX-License-Identifier: Apache-2.0
// Positions on a command line: "0:16" (START:STOP, STOP excluded), "7", "0,1,4096", "-4:4,131071".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rotary::cli {

// In the order given. Usage failure when a range is empty, a number leaves int64, or there are more
// than most_positions, which is checked before anything of that size is allocated.
[[nodiscard]] std::vector<std::int64_t> parse_positions(std::string_view option,
                                                        std::string_view text,
                                                        std::uint64_t most_positions);

// The positions of an answer that has so many numbers (>= 1) for each of them. It goes to the file
// out, or to standard output; how many numbers it may have depends on that, and a usage failure
// says both.
struct AnswerSize {
  std::uint64_t numbers_each = 1;
  const std::optional<std::string>& out;
};

[[nodiscard]] std::vector<std::int64_t> parse_positions(std::string_view option,
                                                        std::string_view text,
                                                        const AnswerSize& answer);

}  // namespace rotary::cli
