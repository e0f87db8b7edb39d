// SPDX-License-Identifier: Apache-2.0
// The command line of programs that search for a worst case.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "rotary/instruction_set.hpp"

namespace rotary {

// main() of `program [rounds [seed]]`. Prints rounds and seed, and returns search's exit code.
inline int run_search(int argc, char** argv, int (*search)(int rounds, std::uint64_t seed)) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 100;
  const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const auto used = instruction_set();
  std::printf("instruction set %s, %d rounds, seed %" PRIu64 "\n",
              used ? std::string(*used).c_str() : used.error().message.c_str(), rounds, seed);
  return search(rounds, seed);
}

}  // namespace rotary
