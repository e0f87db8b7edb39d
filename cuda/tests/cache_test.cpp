// SPDX-License-Identifier: Apache-2.0
// Shifting stored keys: equal to the CPU, byte for byte.
#include "cases.hpp"

namespace rotary::cuda_tests {
namespace {

TEST_F(Cuda, ShiftIsBitIdenticalToTheCpu) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const HeadWindow window = window_of(one_of(random, windows), one_of(random, all_pairings));
    const BothFrequencies before = random_frequencies(random, window);
    const BothFrequencies after = random_frequencies(random, window);
    const bool alike = one_of(random, 0, 1) == 0;
    const BothFrequencies& from = before;
    const BothFrequencies& to = alike ? before : after;
    const Shape shape = random_shape(random);
    const DType dtype = one_of(random, all_dtypes);
    Tensor keys(random, dtype, extents_of(shape, window.head_dim), one_of(random, all_layouts));
    const Numbers old_places = random_positions(random, from, 1, shape.tokens);
    const Numbers new_places = random_positions(random, to, shape.batch, shape.tokens);
    SCOPED_TRACE(testing::Message() << "round " << round << ", alike " << alike);
    const auto shifted =
        shift(keys.host(), {from.host(), old_places.host()}, {to.host(), new_places.host()});
    ASSERT_TRUE(shifted) << shifted.error().message;
    const auto old_positions = old_places.device();
    const auto new_positions = new_places.device();
    const auto old_at = at_of(from, old_positions);
    const auto new_at = at_of(to, new_positions);
    const auto view = keys.device();
    expect_ok(rotary_cuda_shift(&view, &old_at, &new_at, nullptr));
    ASSERT_TRUE(keys.agree());
  }
}

}  // namespace
}  // namespace rotary::cuda_tests
