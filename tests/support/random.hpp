// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine. Those of std::uniform_real_distribution differ
// between standard libraries.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace rotary::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] std::uint64_t bits() { return engine_(); }

  // Uniform in [0, 1).
  [[nodiscard]] double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  // Uniform in [first, last].
  [[nodiscard]] std::int64_t integer(std::int64_t first, std::int64_t last) {
    const auto count = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) + 1;
    const std::uint64_t offset = count == 0 ? engine_() : engine_() % count;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + offset);
  }

  // Like activations: uniform in [-4, 4).
  [[nodiscard]] float activation() { return static_cast<float>(unit() * 8 - 4); }

  // A random sign and significand, with 2^lowest <= |x| < 2^(highest + 1).
  [[nodiscard]] double magnitude(int lowest, int highest) {
    const double significand = (unit() < 0.5 ? -1 : 1) * (1 + unit());
    return std::ldexp(significand, static_cast<int>(integer(lowest, highest)));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace rotary::test
