// SPDX-License-Identifier: Apache-2.0
// Rotates one pair by hand and with rotary; exits with 0 if they agree.
#include <array>
#include <cmath>
#include <cstdio>

#include "rotary/rotary.hpp"

int main() {
  const auto frequencies =
      rotary::make_frequencies({.head_dim = 2, .base = 10000.0, .pairing = rotary::Pairing::half});
  if (!frequencies) return 1;
  const auto rotations =
      rotary::make_rotations(*frequencies, rotary::ConsecutivePositions{.first = 3, .tokens = 1});
  if (!rotations) return 1;

  std::array<float, 2> q{0.5F, -2.0F};
  const rotary::Extents extents{.tokens = 1, .heads = 1, .features = 2};
  const rotary::HeadsView view{q.data(), rotary::DType::f32, extents, strides_bthd(extents)};
  const auto status = rotary::rotate(view, view, *rotations);
  if (!status) return 1;

  // The single pair rotates by one radian per position.
  const double x = 0.5 * std::cos(3.0) + 2.0 * std::sin(3.0);
  const double y = 0.5 * std::sin(3.0) - 2.0 * std::cos(3.0);
  const double error = std::hypot(static_cast<double>(q[0]) - x, static_cast<double>(q[1]) - y);
  std::printf("C++: off by %.1e\n", error);
  return error < 1e-6 ? 0 : 1;
}
