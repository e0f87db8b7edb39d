// SPDX-License-Identifier: Apache-2.0
// Rotation of random numbers, compared with the CPU. Compares all memory of each tensor byte for
// byte, so a write outside the tensor fails, too.
#include "cases.hpp"

namespace rotary::cuda_tests {
namespace {

TEST_F(Cuda, RotateIsBitIdenticalToTheCpu) {
  Random random(1);
  for (int round = 0; round < 600; ++round) {
    const HeadWindow window = window_of(one_of(random, windows), one_of(random, all_pairings));
    const BothFrequencies frequencies = random_frequencies(random, window);
    const Shape shape = random_shape(random);
    const Extents extents = extents_of(shape, window.head_dim);
    const DType dtype = one_of(random, all_dtypes);
    const Direction direction = one_of(random, all_directions);
    Tensor src(random, dtype, extents, one_of(random, all_layouts));
    Tensor other(random, dtype, extents, one_of(random, all_layouts));
    const bool in_place = one_of(random, 0, 1) == 0;
    Tensor& dst = in_place ? src : other;
    const Numbers numbers = random_positions(
        random, frequencies, one_of(random, 0, 1) == 0 ? 1 : shape.batch, shape.tokens);
    SCOPED_TRACE(testing::Message()
                 << "round " << round << ", " << to_string(dtype) << ", "
                 << to_string(window.pairing.get()) << ", head_dim " << window.head_dim
                 << ", direction " << static_cast<int>(direction) << ", in place " << in_place);
    const auto rotations = make_rotations(frequencies.host(), numbers.host());
    ASSERT_TRUE(rotations);
    ASSERT_TRUE(rotate(dst.host(), src.host(), *rotations, {.direction = direction}));
    const auto positions = numbers.device();
    const auto at = at_of(frequencies, positions);
    const auto to = dst.device();
    const auto from = src.device();
    const auto options = options_of(direction);
    expect_ok(rotary_cuda_rotate(&to, &from, &at, &options));
    ASSERT_TRUE(dst.agree());
  }
}

// Too many tokens for the kernels of a decode step.
TEST_F(Cuda, RotateIsBitIdenticalForManyTokens) {
  Random random(2);
  for (const DType dtype : all_dtypes) {
    for (const Layout layout : all_layouts) {
      const HeadWindow window = window_of({128, 128, 0}, Pairing::half);
      const BothFrequencies frequencies(window, powers(64, 5e5), 1);
      const Extents of_q = {1, 1031, 32, 128};
      const Extents of_k = {1, 1031, 8, 128};
      Tensor q(random, dtype, of_q, layout);
      Tensor k(random, dtype, of_k, layout);
      const auto rotations = make_rotations(
          frequencies.host(),
          ConsecutivePositions{.first = (std::int64_t{1} << 31) - 500, .tokens = 1031});
      ASSERT_TRUE(rotate_qk(q.host(), k.host(), *rotations));
      const auto positions = consecutive((std::int64_t{1} << 31) - 500, 1031);
      const auto at = at_of(frequencies, positions);
      const auto q_view = q.device();
      const auto k_view = k.device();
      expect_ok(rotary_cuda_rotate_qk(&q_view, &k_view, &at, nullptr));
      ASSERT_TRUE(q.agree()) << to_string(dtype) << " " << static_cast<int>(layout);
      ASSERT_TRUE(k.agree()) << to_string(dtype) << " " << static_cast<int>(layout);
    }
  }
}

}  // namespace
}  // namespace rotary::cuda_tests
