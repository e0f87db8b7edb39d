// SPDX-License-Identifier: Apache-2.0
// Random numbers that depend on a seed only, the same with every compiler and standard library:
// SplitMix64 (Steele, Lea and Flood 2014).
#pragma once

#include <cstdint>

namespace rotary::lab {

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept : state_(seed) {}
  // One of several streams that share a seed.
  constexpr Random(std::uint64_t seed, std::uint64_t stream) noexcept
      : state_(Random(seed).next() ^ Random(~stream).next()) {}

  constexpr std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // In [0, end), end > 0. The bias is below end / 2^64.
  constexpr std::int64_t below(std::int64_t end) noexcept {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(end));
  }
  // In (0, 1].
  constexpr double uniform() noexcept {
    return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

}  // namespace rotary::lab
