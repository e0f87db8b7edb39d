// SPDX-License-Identifier: Apache-2.0
// The relative position of a pair under each map, the effect of clipping on scores, and errors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

#include "attention/maps/map_passes.hpp"
#include "reference/position_maps.hpp"
#include "rotary/position_maps.hpp"
#include "support/error_matchers.hpp"
#include "support/random.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

using test::fails;
using test::Tensor;

constexpr std::int64_t head_dim = 14;

Frequencies frequencies_of_two_pairs() {
  const HeadWindow window{.head_dim = head_dim, .rotary_dim = 4, .pairing = Pairing::half};
  return test::value_of(make_frequencies(window, {1.0, 0.1}, 1));
}

struct Tensors {
  Tensor q{{.extents = {1, 5, 4, head_dim}}};
  Tensor k{{.extents = {1, 9, 2, head_dim}}};
  Tensor v{{.extents = {1, 9, 2, 5}}};
  Tensor out{{.extents = {1, 5, 4, 5}}};

  Tensors() { out.set({}, 0, 7); }

  [[nodiscard]] Status attend(const MappedAttention& options) {
    return attend_mapped(out.view(), q.view(), k.view(), v.view(), options);
  }
};

AttendOptions causal(double scale) {
  return {.scale = scale, .mask = {.order = AttentionOrder::causal}};
}

TEST(PositionMaps, RelativePositionIsThatOfTheDefinition) {
  test::Random random(7);
  for (const PositionMap& map : std::initializer_list<PositionMap>{
           ReRope{0}, ReRope{17}, LeakyReRope{9, 4}, LeakyReRope{0, 1}, SelfExtend{10, 4},
           SelfExtend{0, 1}, SelfExtend{1, 7}, DualChunk{12, 4}, DualChunk{9, 8}, DualChunk{300, 3},
           ClippedAngle{}, ClippedAngle{0.5}}) {
    for (int i = 0; i < 400; ++i) {
      const std::int64_t query = random.integer(-50, 50) + (i % 2 == 0 ? 0 : 1LL << 36);
      const std::int64_t key = query - random.integer(0, 90);
      for (const double inv_freq : {1.0, -0.3, 0.0}) {
        const auto exact =
            static_cast<double>(reference::mapped_distance(map, query, key, inv_freq));
        ASSERT_NEAR(relative_position(map, query, key, inv_freq), exact, 0x1p-50 * exact)
            << "map " << map.index() << " query " << query << " key " << key;
      }
    }
  }
  // There are two forms in use; this is W - W/G with 10/4 rounded down, in a prefill as in a decode
  // step.
  EXPECT_EQ(relative_position(SelfExtend{10, 4}, 100, 0, 1), 25 + 10 - 2);
  EXPECT_EQ(relative_position(SelfExtend{1, 8}, 7, 0, 1), 1);
  // ChunkLlama of 4096 trained tokens: 3072 and 256. No distance leaves the trained context.
  EXPECT_EQ(relative_position(DualChunk{3072, 256}, 100000, 0, 1), 3072);
  EXPECT_EQ(relative_position(DualChunk{3072, 256}, 2816, 2815, 1), 1);
}

// Σ over pairs of a cos φ - b sin φ, a + ib = q conj(k).
double score_at(std::int64_t distance, const std::vector<double>& inv_freq,
                const std::vector<double>& a, const std::vector<double>& b) {
  double score = 0;
  for (std::size_t p = 0; p < inv_freq.size(); ++p) {
    const double angle = inv_freq[p] * relative_position(ClippedAngle{}, distance, 0, inv_freq[p]);
    score += a[p] * std::cos(angle) - b[p] * std::sin(angle);
  }
  return score;
}

// The purpose of the clipped angle, scores that fall with distance, is met for q = k but not for
// other q and k.
TEST(PositionMaps, ClippedScoresFallWithDistanceOnlyWhereQueryIsKey) {
  std::vector<double> inv_freq;
  for (int p = 0; p < 64; ++p) inv_freq.push_back(std::pow(10000.0, -p / 64.0));
  const std::vector<double> ones(64, 1.0);
  const std::vector<double> zeros(64, 0.0);
  // The slowest pair reaches π at π 10000^(63/64) = 27205.5 and more.
  for (std::int64_t distance = 0; distance < 27206; ++distance)
    ASSERT_LT(score_at(distance + 1, inv_freq, ones, zeros),
              score_at(distance, inv_freq, ones, zeros))
        << distance;
  EXPECT_EQ(score_at(27206, inv_freq, ones, zeros), -64);
  EXPECT_EQ(score_at(1 << 30, inv_freq, ones, zeros), -64);

  test::Random random(14);
  for (int sample = 0; sample < 200; ++sample) {
    std::vector<double> a;
    std::vector<double> b;
    for (int p = 0; p < 64; ++p) {
      const double phase = 2 * std::numbers::pi * random.unit();
      a.push_back(std::cos(phase));
      b.push_back(std::sin(phase));
    }
    bool rises = false;
    for (std::int64_t distance = 0; distance < 1000 && !rises; ++distance)
      rises = score_at(distance + 1, inv_freq, a, b) > score_at(distance, inv_freq, a, b) + 1e-9;
    EXPECT_TRUE(rises) << "sample " << sample;
  }
}

TEST(PositionMaps, RefusesMapsWithTheirRequirement) {
  const auto refused = [](const PositionMap& map, std::initializer_list<std::string_view> parts) {
    Tensors tensors;
    const auto before = tensors.out.all_bits();
    const Frequencies frequencies = frequencies_of_two_pairs();
    EXPECT_TRUE(fails(validate(map), ErrorCode::invalid_argument, parts));
    EXPECT_TRUE(
        fails(tensors.attend({.map = map, .frequencies = &frequencies, .attend = causal(1)}),
              ErrorCode::invalid_argument, parts));
    EXPECT_EQ(tensors.out.all_bits(), before);
  };
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  refused({}, {"window must be from 0 to", "got -1"});
  refused(ReRope{-1}, {"window must be from 0 to", "got -1"});
  refused(ReRope{most}, {"window", "got 9223372036854775807"});
  refused(LeakyReRope{-3, 2}, {"window", "got -3"});
  refused(LeakyReRope{3, 0}, {"factor must be from 1 to 1048576", "got 0"});
  refused(LeakyReRope{3, most}, {"factor"});
  refused(SelfExtend{-1, 2}, {"neighbors must be from 0", "got -1"});
  refused(SelfExtend{4, 0}, {"group must be from 1", "got 0"});
  refused(DualChunk{0, 0}, {"chunk must be from 1", "got 0"});
  refused(DualChunk{8, 8}, {"local must be from 0 to 7", "got 8"});
  refused(DualChunk{8, -1}, {"local", "got -1"});
  refused(ClippedAngle{0}, {"max_angle must be > 0 and at most pi", "got 0"});
  refused(ClippedAngle{3.2}, {"max_angle", "got 3.2"});
  refused(ClippedAngle{std::nan("")}, {"max_angle", "got nan"});
}

TEST(PositionMaps, RefusesWhatAMapCannotServe) {
  Tensors tensors;
  const auto before = tensors.out.all_bits();
  const Frequencies good = frequencies_of_two_pairs();
  const auto attend_with = [&](const Frequencies* frequencies, double scale,
                               std::span<const AttentionSequence> sequences) {
    AttendOptions options = causal(scale);
    options.sequences = sequences;
    return tensors.attend({.map = ReRope{4}, .frequencies = frequencies, .attend = options});
  };
  const auto refused = [&](const Status& status, std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(fails(status, ErrorCode::invalid_argument, parts));
    EXPECT_EQ(tensors.out.all_bits(), before);
  };
  refused(attend_with(nullptr, 1, {}), {"frequencies must be given", "null"});
  refused(attend_with(&good, 0, {}), {"scale", "got 0"});
  Frequencies bad = good;
  bad.contexts.last = 4096;
  refused(attend_with(&bad, 1, {}), {"the same for every context", "1 to 4096"});
  bad = good;
  bad.xpos = Xpos{};
  refused(attend_with(&bad, 1, {}), {"without xpos", "512"});
  const Frequencies dense =
      test::value_of(make_frequencies(good.window, {1.0, 0.1, 0.5, 0.2}, 1, PairAxes{.count = 2}));
  refused(attend_with(&dense, 1, {}), {"frequencies: must not be of dense axes, got 2 axes"});
  bad = good;
  bad.numerics = Numerics::ggml;
  refused(attend_with(&bad, 1, {}), {"numerics must be exact"});
  bad = good;
  bad.inv_freq.clear();
  refused(attend_with(&bad, 1, {}), {"inv_freq"});
  bad = good;
  bad.turns.clear();
  refused(attend_with(&bad, 1, {}), {"turns"});
  bad = test::value_of(
      make_frequencies({.head_dim = 16, .rotary_dim = 2, .pairing = Pairing::half}, {1.0}, 1));
  refused(attend_with(&bad, 1, {}), {"head_dim must be the features of q, 14", "got 16"});
  const std::vector<AttentionSequence> twice = {{0, 0, 2, 0, 4, 0, 0}, {0, 2, 2, 3, 4, 3, 0}};
  refused(attend_with(&good, 1, twice), {"a key must stand at one position", "token 3"});
  const std::vector<AttentionSequence> outside = {{0, 0, 2, 8, 4, 0, 0}};
  refused(attend_with(&good, 1, outside), {"keys must be among the 9"});
  const HeadsView out = tensors.out.view();
  refused(attend_mapped(out, tensors.q.view(), tensors.k.view(), out,
                        {.map = ReRope{4}, .frequencies = &good, .attend = causal(1)}),
          {"v: batch, tokens and heads must be those of k"});
  HeadsView shared = tensors.q.view();
  shared.extents.features = 5;
  refused(attend_mapped(shared, tensors.q.view(), tensors.k.view(), tensors.v.view(),
                        {.map = ReRope{4}, .frequencies = &good, .attend = causal(1)}),
          {"out and q must share no element"});
}

TEST(PositionMaps, RefusesOptionsThatAMapHasNoUseFor) {
  Tensors tensors;
  const auto before = tensors.out.all_bits();
  const Frequencies good = frequencies_of_two_pairs();
  const auto refused = [&](auto change, std::string_view member) {
    AttendOptions options = causal(1);
    change(options);
    EXPECT_TRUE(fails(tensors.attend({.map = ReRope{4}, .frequencies = &good, .attend = options}),
                      ErrorCode::unsupported, {member, "a position map"}));
    EXPECT_EQ(tensors.out.all_bits(), before);
  };
  const RelativeBias bias = Alibi{.heads = 4};
  const ShawTable shaw;
  std::vector<std::byte> memory(64);
  refused([](AttendOptions& o) { o.mask.order = AttentionOrder::bidirectional; }, "mask");
  refused([](AttendOptions& o) { o.mask.order = {}; }, "mask");
  refused([](AttendOptions& o) { o.mask.right = 1; }, "mask");
  refused([](AttendOptions& o) { o.mask.sinks = 1; }, "mask");
  refused([&](AttendOptions& o) { o.encoding.bias = &bias; }, "encoding");
  refused([&](AttendOptions& o) { o.encoding.cached_keys = &good; }, "encoding");
  refused([&](AttendOptions& o) { o.encoding.shaw_keys = &shaw; }, "encoding");
  refused([&](AttendOptions& o) { o.encoding.shaw_values = &shaw; }, "encoding");
  refused([](AttendOptions& o) { o.weights = ScoresView{}; }, "weights");
  refused([&](AttendOptions& o) { o.memory = memory; }, "memory");
}

// From 2^62 positions on a bound counts as none.
TEST(PositionMaps, AnAngleThatNoPositionReachesHasNoBound) {
  EXPECT_EQ(positions_to(0x1p21, 0x1p-40), std::int64_t{1} << 61);
  EXPECT_EQ(positions_to(0x1p22, 0x1p-40), any_distance);
  EXPECT_EQ(positions_to(1, -0.25), 4);
  EXPECT_EQ(positions_to(1, 0), any_distance);
}

}  // namespace
}  // namespace rotary
