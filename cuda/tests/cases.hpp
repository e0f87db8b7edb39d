// SPDX-License-Identifier: Apache-2.0
// Random inputs of the tests (windows, shapes, positions, frequencies, slots) and their C structs.
#pragma once

#include <utility>
#include <vector>

#include "device.hpp"

namespace rotary::cuda_tests {

inline constexpr DType all_dtypes[] = {DType::f32, DType::bf16, DType::f16};
inline constexpr Direction all_directions[] = {Direction::forward, Direction::inverse,
                                               Direction::transpose};

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device())
      GTEST_SKIP() << "no NVIDIA device here: the functions of rotary_cuda.h were not run";
  }
  void TearDown() override {
    if (has_device()) expect_success(cudaDeviceSynchronize());
  }
};

struct WindowCase {
  std::int64_t head_dim;
  std::int64_t rotary_dim;
  std::int64_t first_feature;
  std::int64_t blocks = 1;
};
inline constexpr WindowCase windows[] = {
    {128, 128, 0},  {64, 64, 0},  {80, 32, 0}, {192, 64, 128}, {96, 96, 0},   {10, 6, 3},
    {72, 72, 0, 2}, {256, 64, 0}, {2, 2, 0},   {576, 64, 512}, {130, 98, 20}, {1024, 1024, 0}};

[[nodiscard]] inline HeadWindow window_of(const WindowCase& of, Pairing pairing) {
  return {.head_dim = of.head_dim,
          .rotary_dim = of.rotary_dim,
          .first_feature = of.first_feature,
          .pairing = pairing,
          .blocks = pairing == Pairing::half ? of.blocks : 1};
}

[[nodiscard]] inline rotary_cuda_at at_of(const BothFrequencies& frequencies,
                                          const rotary_positions& positions) {
  rotary_cuda_at at = ROTARY_CUDA_AT_INIT;
  at.frequencies = frequencies.device();
  at.positions = &positions;
  return at;
}

[[nodiscard]] inline rotary_positions consecutive(std::int64_t first, std::int64_t tokens) {
  rotary_positions positions = ROTARY_POSITIONS_INIT;
  positions.first = first;
  positions.tokens = tokens;
  return positions;
}

[[nodiscard]] inline rotary_cuda_options options_of(Direction direction) {
  rotary_cuda_options options = ROTARY_CUDA_OPTIONS_INIT;
  options.direction = static_cast<std::int32_t>(direction);
  return options;
}

struct Shape {
  std::int64_t batch;
  std::int64_t tokens;
  std::int64_t heads;
};
[[nodiscard]] inline Shape random_shape(Random& random) {
  return {one_of(random, 1, 3), one_of(random, 1, 40), one_of(random, 1, 9)};
}

[[nodiscard]] inline Extents extents_of(const Shape& shape, std::int64_t features) {
  return {shape.batch, shape.tokens, shape.heads, features};
}

// Pairs rotate on one axis, on three dense axes, or each on one of three axes.
[[nodiscard]] inline BothFrequencies random_frequencies(Random& random, const HeadWindow& window) {
  constexpr double factors[] = {1, 1, 1.1386294361119891, 0.75};
  auto inv_freq = powers(window.pairs(), one_of(random, 0, 1) == 0 ? 1e4 : 1e6);
  PairAxes axes;
  const std::int64_t kind = one_of(random, 0, 5);
  if (kind < 2) axes.count = 3;
  if (kind == 0) {
    inv_freq.resize(3 * inv_freq.size());
    for (double& each : inv_freq) each = random.magnitude(-4, 0);
  }
  for (std::int64_t i = 0; kind == 1 && i < window.pairs(); ++i)
    axes.of_pair.push_back(static_cast<std::int32_t>(one_of(random, 0, 2)));
  if (one_of(random, 0, 3) == 0) {
    for (double& each : inv_freq) each = -each;
  }
  return {window, inv_freq, one_of(random, factors), axes};
}

// Positions have one coordinate, which serves all axes, or one for each axis.
[[nodiscard]] inline Numbers random_positions(Random& random, const BothFrequencies& frequencies,
                                              std::int64_t batch, std::int64_t tokens) {
  const std::int64_t axes = one_of(random, 0, 2) == 0 ? 1 : frequencies.host().axes.count;
  constexpr std::int64_t highest[] = {100, 131072, (std::int64_t{1} << 31) - 1,
                                      std::int64_t{1} << 62};
  const std::int64_t most = one_of(random, highest);
  const auto count = static_cast<std::size_t>(batch * tokens * axes);
  if (most < std::int64_t{1} << 31 && one_of(random, 0, 1) == 0) {
    std::vector<std::int32_t> numbers(count);
    for (auto& number : numbers) number = static_cast<std::int32_t>(one_of(random, -most, most));
    return {numbers, batch, axes};
  }
  std::vector<std::int64_t> numbers(count);
  for (auto& number : numbers) number = one_of(random, -most, most);
  return {numbers, batch, axes};
}

// Slots of a paged cache: distinct, with some tokens not stored.
[[nodiscard]] inline Numbers random_slots(Random& random, const Shape& shape, std::int64_t slots) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(slots));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  for (std::int64_t i = slots; i-- > 1;)
    std::swap(all[static_cast<std::size_t>(i)],
              all[static_cast<std::size_t>(one_of(random, 0, i))]);
  all.resize(static_cast<std::size_t>(shape.batch * shape.tokens));
  for (auto& slot : all) {
    if (one_of(random, 0, 9) == 0) slot = -1 - one_of(random, 0, 5);
  }
  if (one_of(random, 0, 1) == 0) return {all, shape.batch};
  return {std::vector<std::int32_t>(all.begin(), all.end()), shape.batch};
}

struct AppendShape {
  HeadWindow window;
  Shape shape;
  std::int64_t v_features;
  Extents cache;  // of k
};

[[nodiscard]] inline AppendShape random_append(Random& random) {
  AppendShape made{.window = window_of(one_of(random, windows), one_of(random, all_pairings)),
                   .shape = random_shape(random),
                   .v_features = one_of(random, {64, 128, 37}),
                   .cache = {}};
  made.cache = {one_of(random, 3, 6), one_of(random, 40, 64), made.shape.heads,
                made.window.head_dim};
  return made;
}

[[nodiscard]] inline rotary_kv kv_of(const rotary_heads_view& k, const rotary_heads_view* v) {
  rotary_kv kv = ROTARY_KV_INIT;
  kv.k = &k;
  kv.v = v;
  return kv;
}

inline constexpr Layout cache_layouts[] = {Layout::bthd, Layout::bhtd, Layout::padded};

}  // namespace rotary::cuda_tests
