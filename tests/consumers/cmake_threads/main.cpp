// SPDX-License-Identifier: Apache-2.0
// Rotates a prefill with and without threads. Exits with 0 if the bits are equal and the last
// token's first pair is right.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "rotary/rotary.hpp"
#include "rotary/threads.hpp"

namespace {

constexpr rotary::Extents extents{.tokens = 512, .heads = 8, .features = 128};

std::vector<float> ones() {
  return std::vector<float>(static_cast<std::size_t>(extents.tokens * strides_bthd(extents).token),
                            1.0F);
}

bool rotate(std::vector<float>& q, const rotary::Rotations& rotations, rotary::Executor executor) {
  const rotary::HeadsView view{q.data(), rotary::DType::f32, extents, strides_bthd(extents)};
  return rotary::rotate(view, view, rotations, {.executor = executor}).ok();
}

}  // namespace

int main() {
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = extents.features, .base = 10000.0, .pairing = rotary::Pairing::half});
  if (!frequencies) return 1;
  const auto rotations =
      rotary::make_rotations(*frequencies, rotary::ConsecutivePositions{.tokens = extents.tokens});
  const auto threads = rotary::Threads::start(2);
  if (!rotations || !threads) return 1;

  std::vector<float> alone = ones();
  std::vector<float> together = ones();
  if (!rotate(alone, *rotations, {})) return 1;
  if (!rotate(together, *rotations, threads->executor())) return 1;

  const auto last = static_cast<double>(extents.tokens - 1);
  const std::int64_t last_token = (extents.tokens - 1) * strides_bthd(extents).token;
  const auto first_feature = static_cast<double>(together[static_cast<std::size_t>(last_token)]);
  const double error = std::abs(first_feature - (std::cos(last) - std::sin(last)));
  std::printf("threads: %s, off by %.1e\n", alone == together ? "same bits" : "other bits", error);
  return alone == together && error < 1e-6 ? 0 : 1;
}
