// SPDX-License-Identifier: Apache-2.0
// Views that may share a buffer. Random small views are compared with a count of addresses: a
// shared element is always refused, and views whose strides nest are refused for no other reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <set>
#include <sstream>
#include <vector>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/random.hpp"

namespace rotary {
namespace {

constexpr std::int64_t head_dim = 2;

std::array<std::pair<std::int64_t, std::int64_t>, 4> axes_of(const ConstHeadsView& view) {
  const auto& [batch, tokens, heads, features] = view.extents;
  const auto& strides = view.strides;
  return {{{batch, strides.batch},
           {tokens, strides.token},
           {heads, strides.head},
           {features, strides.feature}}};
}

// Offsets of all elements from element (0, 0, 0, 0).
std::multiset<std::int64_t> offsets_of(const ConstHeadsView& view) {
  std::multiset<std::int64_t> offsets;
  test::for_each_element(view.extents, [&](const test::HeadIndex& index, std::int64_t f) {
    offsets.insert(index.batch * view.strides.batch + index.token * view.strides.token +
                   index.head * view.strides.head + f * view.strides.feature);
  });
  return offsets;
}

bool has_equal_elements(const std::multiset<std::int64_t>& sorted) {
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

// Each stride steps over everything that the smaller ones reach.
bool strides_nest(const ConstHeadsView& view) {
  auto axes = axes_of(view);
  std::sort(axes.begin(), axes.end(),
            [](const auto& a, const auto& b) { return std::abs(a.second) < std::abs(b.second); });
  std::int64_t reach = 0;
  for (const auto& [extent, stride] : axes) {
    if (extent <= 1) continue;
    if (std::abs(stride) <= reach) return false;
    reach += (extent - 1) * std::abs(stride);
  }
  return true;
}

std::string describe(const ConstHeadsView& view, std::int64_t first) {
  std::ostringstream text;
  text << "from " << first << ":";
  for (const auto& [extent, stride] : axes_of(view)) text << " " << extent << "x" << stride;
  return text.str();
}

struct Buffer {
  std::vector<float> elements = std::vector<float>(4096, 1.0F);
  [[nodiscard]] float* at(std::int64_t element) { return elements.data() + 2048 + element; }
};

Strides random_strides(test::Random& random) {
  const auto stride = [&](std::int64_t limit) { return random.integer(-limit, limit); };
  return {.batch = stride(24), .token = stride(24), .head = stride(12), .feature = stride(6)};
}

Strides random_nested_strides(const Extents& extents, test::Random& random) {
  std::array<std::int64_t, 4> sizes = {extents.batch, extents.tokens, extents.heads,
                                       extents.features};
  std::array<std::size_t, 4> order = {0, 1, 2, 3};
  for (std::size_t i = 3; i > 0; --i) {
    std::swap(order[i], order[static_cast<std::size_t>(random.integer(0, static_cast<int>(i)))]);
  }
  std::array<std::int64_t, 4> strides{};
  std::int64_t reach = 0;
  for (const std::size_t axis : order) {
    const std::int64_t stride = reach + random.integer(1, 4);
    strides[axis] = random.unit() < 0.3 ? -stride : stride;
    reach += (sizes[axis] - 1) * stride;
  }
  return {strides[0], strides[1], strides[2], strides[3]};
}

Extents random_extents(test::Random& random) {
  return {random.integer(1, 3), random.integer(1, 3), random.integer(1, 3), head_dim};
}

Rotations rotations_for(std::int64_t tokens) {
  const HeadWindow window{
      .head_dim = head_dim, .rotary_dim = head_dim, .first_feature = 0, .pairing = Pairing::half};
  return test::rotations_of(test::frequencies_of(window),
                            ConsecutivePositions{.first = 0, .tokens = tokens});
}

// dst lies at element 0 of the buffer and src at `first`.
struct Pair {
  HeadsView dst;
  ConstHeadsView src;
  std::int64_t first = 0;
};

void expect_decided_rightly(const Pair& views, const Rotations& rotations) {
  const auto dst_offsets = offsets_of(views.dst);
  const bool distinct = !has_equal_elements(dst_offsets);
  bool shared = false;
  for (const std::int64_t offset : offsets_of(views.src)) {
    shared = shared || dst_offsets.count(offset + views.first) > 0;
  }
  const bool in_place = ConstHeadsView(views.dst) == views.src;
  const bool legal = distinct && (in_place || !shared);
  const bool accepted = rotate(views.dst, views.src, rotations).ok();
  const bool must_accept = legal && strides_nest(views.dst) && strides_nest(views.src);
  ASSERT_TRUE(!accepted || legal) << "accepted dst " << describe(views.dst, 0) << ", src "
                                  << describe(views.src, views.first);
  ASSERT_TRUE(accepted || !must_accept)
      << "refused dst " << describe(views.dst, 0) << ", src " << describe(views.src, views.first);
}

TEST(Overlap, RandomStridesAreNeverAcceptedWrongly) {
  test::Random random(26);
  Buffer buffer;
  for (int i = 0; i < 20000; ++i) {
    const Extents extents = random_extents(random);
    const std::int64_t first = random.integer(-40, 40);
    const HeadsView dst{buffer.at(0), DType::f32, extents, random_strides(random)};
    const ConstHeadsView src{buffer.at(first), DType::f32, extents, random_strides(random)};
    expect_decided_rightly({dst, src, first}, rotations_for(extents.tokens));
    if (HasFatalFailure()) return;
  }
}

TEST(Overlap, NestedStridesAreDecidedExactly) {
  test::Random random(27);
  Buffer buffer;
  for (int i = 0; i < 20000; ++i) {
    const Extents extents = random_extents(random);
    const std::int64_t first = random.integer(-60, 60);
    const HeadsView dst{buffer.at(0), DType::f32, extents, random_nested_strides(extents, random)};
    const bool same_strides = random.unit() < 0.5;
    const ConstHeadsView src{buffer.at(first), DType::f32, extents,
                             same_strides ? dst.strides : random_nested_strides(extents, random)};
    expect_decided_rightly({dst, src, first}, rotations_for(extents.tokens));
    if (HasFatalFailure()) return;
  }
}

// Adjacent features, and every other stride within one of what the smaller ones reach: the views
// that are recognised without a search, and their nearest neighbours that must not be.
Strides random_strides_at_the_edge(const Extents& extents, test::Random& random) {
  Strides strides;
  std::int64_t reach = extents.features;
  const auto step = [&](std::int64_t& stride, std::int64_t count) {
    stride = reach + random.integer(-1, 1);
    reach += (count - 1) * stride;
  };
  const bool heads_first = random.unit() < 0.5;
  if (heads_first) step(strides.head, extents.heads);
  step(strides.token, extents.tokens);
  if (!heads_first) step(strides.head, extents.heads);
  step(strides.batch, extents.batch);
  return strides;
}

TEST(Overlap, StridesAtTheEdgeOfNestingAreDecidedExactly) {
  test::Random random(28);
  Buffer buffer;
  for (int i = 0; i < 20000; ++i) {
    const Extents extents = random_extents(random);
    const HeadsView dst{buffer.at(0), DType::f32, extents,
                        random_strides_at_the_edge(extents, random)};
    const std::int64_t end = *offsets_of(dst).rbegin() + 1;
    const std::int64_t first = (random.unit() < 0.5 ? end : -end) + random.integer(-2, 1);
    const ConstHeadsView src{buffer.at(first), DType::f32, extents, dst.strides};
    expect_decided_rightly({dst, src, first}, rotations_for(extents.tokens));
    if (HasFatalFailure()) return;
  }
}

// The case of real models: slots of one fused projection, at real sizes. Decided, and at once.
TEST(Overlap, SlotsOfAFusedProjectionAtFullSize) {
  constexpr std::int64_t heads = 32;
  constexpr std::int64_t tokens = 64;
  constexpr Extents extents{.batch = 2, .tokens = tokens, .heads = heads, .features = 128};
  constexpr std::int64_t slot = heads * 128;
  constexpr Strides strides{.batch = tokens * 3 * slot, .token = 3 * slot, .head = 128};
  std::vector<float> buffer(static_cast<std::size_t>(2 * tokens * 3 * slot));
  const HeadWindow window{
      .head_dim = 128, .rotary_dim = 128, .first_feature = 0, .pairing = Pairing::half};
  const Rotations rotations = test::rotations_of(
      test::frequencies_of(window), ConsecutivePositions{.first = 0, .tokens = tokens});
  const HeadsView q{buffer.data(), DType::f32, extents, strides};
  const HeadsView k{buffer.data() + slot, DType::f32, extents, strides};
  EXPECT_TRUE(rotate_qk(q, k, rotations));
  for (const std::int64_t shift : {slot - 1, slot, slot + 1, 2 * slot, 2 * slot + 1}) {
    const HeadsView shifted{buffer.data() + shift,
                            DType::f32,
                            {.batch = 1, .tokens = tokens - 1, .heads = heads, .features = 128},
                            strides};
    const bool apart = shift >= slot && shift <= 2 * slot;
    HeadsView shorter = q;
    shorter.extents = shifted.extents;
    const Rotations fewer = test::rotations_of(
        test::frequencies_of(window), ConsecutivePositions{.first = 0, .tokens = tokens - 1});
    EXPECT_EQ(rotate(shorter, shifted, fewer).ok(), apart) << "shifted by " << shift;
  }
}

// The strides of single indices do not matter: any two views of one token and head are in place.
TEST(Overlap, StridesOfSingleIndicesDoNotMatter) {
  const HeadWindow window{
      .head_dim = 4, .rotary_dim = 4, .first_feature = 0, .pairing = Pairing::half};
  const Rotations rotations = test::rotations_of(test::frequencies_of(window),
                                                 ConsecutivePositions{.first = 3, .tokens = 1});
  const Extents extents{.batch = 1, .tokens = 1, .heads = 1, .features = 4};
  std::vector<float> once{1, 2, 3, 4};
  std::vector<float> twice = once;
  const HeadsView plain{once.data(), DType::f32, extents, strides_bthd(extents)};
  ASSERT_TRUE(rotate(plain, plain, rotations));
  constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  const Strides other{.batch = highest, .token = -highest, .head = highest, .feature = 1};
  EXPECT_TRUE(rotate({twice.data(), DType::f32, extents, strides_bthd(extents)},
                     {twice.data(), DType::f32, extents, other}, rotations));
  EXPECT_EQ(twice, once);
}

}  // namespace
}  // namespace rotary
