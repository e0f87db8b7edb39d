// SPDX-License-Identifier: Apache-2.0
// Rotates one pair by hand and with rotary; exits with 0 if they agree.
#include <array>
#include <cmath>
#include <cstdio>

#include "decoder/decoder.hpp"
#include "rotary/threads.hpp"

int main() {
  std::array<float, 2> pair{1.0F, 0.0F};
  if (!rotate_pair(pair, -5) || !rotary::Threads::start(2)) return 1;
  const double error = std::hypot(static_cast<double>(pair[0]) - std::cos(-5.0),
                                  static_cast<double>(pair[1]) - std::sin(-5.0));
  std::printf("subdirectory: off by %.1e\n", error);
  return error < 1e-6 ? 0 : 1;
}
