// SPDX-License-Identifier: Apache-2.0
// Storing keys and values in a cache, and shifting stored keys: equal to the CPU, byte for byte.
#include "cases.hpp"

namespace rotary::cuda_tests {
namespace {

TEST_F(Cuda, AppendIsBitIdenticalToTheCpu) {
  Random random(5);
  for (int round = 0; round < 300; ++round) {
    const AppendShape of = random_append(random);
    const BothFrequencies frequencies = random_frequencies(random, of.window);
    const DType from = one_of(random, all_dtypes);
    const DType k_to = from == DType::f32 ? one_of(random, all_dtypes) : from;
    const DType v_to = from == DType::f32 ? one_of(random, all_dtypes) : from;
    Tensor k(random, from, extents_of(of.shape, of.window.head_dim),
             one_of(random, {Layout::bthd, Layout::bhtd, Layout::fused_qkv}));
    Tensor v(random, from, extents_of(of.shape, of.v_features),
             one_of(random, {Layout::bthd, Layout::fused_qkv, Layout::padded}));
    Extents of_v = of.cache;
    of_v.features = of.v_features;
    Tensor k_cache(random, k_to, of.cache, one_of(random, cache_layouts));
    Tensor v_cache(random, v_to, of_v, one_of(random, cache_layouts));
    const Numbers numbers = random_positions(random, frequencies, of.shape.batch, of.shape.tokens);
    const Numbers paged = random_slots(random, of.shape, of.cache.batch * of.cache.tokens);
    const bool contiguous = one_of(random, 0, 2) == 0;
    SCOPED_TRACE(testing::Message() << "round " << round << ", " << to_string(from) << " to "
                                    << to_string(k_to) << " and " << to_string(v_to));
    const auto rotations = make_rotations(frequencies.host(), numbers.host());
    const Slots slots = contiguous ? Slots(ConsecutiveSlots{.first = 0}) : paged.slots();
    const auto appended = append(KvCache{k_cache.host(), v_cache.host()},
                                 KvHeads{k.host(), v.host()}, slots, {.rotations = &*rotations});
    ASSERT_TRUE(appended) << appended.error().message;
    const auto positions = numbers.device();
    const auto at = at_of(frequencies, positions);
    const auto k_view = k.device(), v_view = v.device();
    const auto k_to_view = k_cache.device(), v_to_view = v_cache.device();
    const rotary_kv heads = kv_of(k_view, &v_view);
    const rotary_kv cache = kv_of(k_to_view, &v_to_view);
    rotary_slots map = paged.device_slots();
    if (contiguous) map = rotary_slots ROTARY_SLOTS_INIT;
    expect_ok(rotary_cuda_append(&cache, &heads, &map, &at, nullptr, nullptr));
    ASSERT_TRUE(k_cache.agree());
    ASSERT_TRUE(v_cache.agree());
  }
}

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
