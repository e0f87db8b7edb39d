// SPDX-License-Identifier: Apache-2.0
// The relative position of a pair under each map, the effect of clipping on scores, and errors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <string_view>
#include <utility>
#include <vector>

#include "attention/maps/map_passes.hpp"
#include "reference/position_maps.hpp"
#include "rotary/position_maps.hpp"
#include "support/random.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

using test::Tensor;

constexpr std::int64_t head_dim = 14;

Frequencies frequencies_of_two_pairs() {
  const HeadWindow window{.head_dim = head_dim, .rotary_dim = 4, .pairing = Pairing::half};
  return test::value_of(make_frequencies(window, {1.0, 0.1}, 1));
}

TEST(PositionMaps, RelativePositionsFollowTheDefinition) {
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
  // Distant keys are at floor(d / G) + W - floor(W / G), one of two forms in use.
  EXPECT_EQ(relative_position(SelfExtend{10, 4}, 100, 0, 1), 25 + 10 - 2);
  EXPECT_EQ(relative_position(SelfExtend{1, 8}, 7, 0, 1), 1);
  // ChunkLlama uses chunk 3072 and local 256 for 4096 trained tokens. No distance exceeds the
  // trained context.
  EXPECT_EQ(relative_position(DualChunk{3072, 256}, 100000, 0, 1), 3072);
  EXPECT_EQ(relative_position(DualChunk{3072, 256}, 2816, 2815, 1), 1);
}

// Σ over pairs of a cos φ - b sin φ, where φ is the pair's angle and a + ib = q conj(k).
double score_at(std::int64_t distance, const std::vector<double>& inv_freq,
                const std::vector<double>& a, const std::vector<double>& b) {
  double score = 0;
  for (std::size_t p = 0; p < inv_freq.size(); ++p) {
    const double angle = inv_freq[p] * relative_position(ClippedAngle{}, distance, 0, inv_freq[p]);
    score += a[p] * std::cos(angle) - b[p] * std::sin(angle);
  }
  return score;
}

// Clipping should make scores fall with distance. They do for q = k, but not for every q and k.
TEST(PositionMaps, ClippedScoresFallWithDistanceForEqualQueryAndKeyButMayRiseOtherwise) {
  std::vector<double> inv_freq;
  for (int p = 0; p < 64; ++p) inv_freq.push_back(std::pow(10000.0, -p / 64.0));
  const std::vector<double> ones(64, 1.0);
  const std::vector<double> zeros(64, 0.0);
  // The slowest pair's angle reaches π at the distance π 10000^(63/64) = 27205.07.
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

struct MapCall {
  Tensor q_tensor{{.extents = {1, 5, 4, head_dim}}};
  Tensor k_tensor{{.extents = {1, 9, 2, head_dim}}};
  Tensor v_tensor{{.extents = {1, 9, 2, 5}}};
  Tensor out_tensor{{.extents = {1, 5, 4, 5}}};
  HeadsView out = out_tensor.view();
  ConstHeadsView v = v_tensor.view();
  Frequencies frequencies = frequencies_of_two_pairs();
  MappedAttention options{.map = ReRope{4},
                          .frequencies = &frequencies,
                          .attend = {.scale = 1, .mask = {.order = AttentionOrder::causal}}};

  MapCall() { out_tensor.set({}, 0, 7); }
  [[nodiscard]] auto written() const { return std::pair(out_tensor.bytes(), q_tensor.bytes()); }
  [[nodiscard]] Status run() const {
    return attend_mapped(out, q_tensor.view(), k_tensor.view(), v, options);
  }
};

class PositionMapsErrors : public test::Refusals<MapCall> {
 protected:
  void refuse_map(const PositionMap& map, test::Parts parts) {
    test::refused(validate(map), parts);
    refuse(c.options.map = map, parts);
  }
  // Expects that a map refuses an option that it does not use.
  template <class Change>
  void refuse_option(const Change& change, std::string_view member) {
    refuse(change, {member, "a position map"}, ErrorCode::unsupported);
  }
};

TEST_F(PositionMapsErrors, EachMapStatesItsRequirements) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  accept(c);
  refuse_map({}, {"window must be from 0 to", "got -1"});
  refuse_map(ReRope{-1}, {"window must be from 0 to", "got -1"});
  refuse_map(ReRope{most}, {"window", "got 9223372036854775807"});
  refuse_map(LeakyReRope{-3, 2}, {"window", "got -3"});
  refuse_map(LeakyReRope{3, 0}, {"factor must be from 1 to 1048576", "got 0"});
  refuse_map(LeakyReRope{3, most}, {"factor"});
  refuse_map(SelfExtend{-1, 2}, {"neighbors must be from 0", "got -1"});
  refuse_map(SelfExtend{4, 0}, {"group must be from 1", "got 0"});
  refuse_map(DualChunk{0, 0}, {"chunk must be from 1", "got 0"});
  refuse_map(DualChunk{8, 8}, {"local must be from 0 to 7", "got 8"});
  refuse_map(DualChunk{8, -1}, {"local", "got -1"});
  refuse_map(ClippedAngle{0}, {"max_angle must be > 0 and at most pi", "got 0"});
  refuse_map(ClippedAngle{3.2}, {"max_angle", "got 3.2"});
  refuse_map(ClippedAngle{std::nan("")}, {"max_angle", "got nan"});
}

TEST_F(PositionMapsErrors, UnsuitableArgumentsAreRefused) {
  refuse(c.options.frequencies = nullptr, {"frequencies must be given", "null"});
  refuse(c.options.attend.scale = 0, {"scale", "got 0"});
  refuse(c.frequencies.contexts.last = 4096, {"the same for every context", "1 to 4096"});
  refuse(c.frequencies.xpos = Xpos{}, {"without xpos", "512"});
  refuse(c.frequencies = test::value_of(
             make_frequencies(c.frequencies.window, {1.0, 0.1, 0.5, 0.2}, 1, PairAxes{.count = 2})),
         {"frequencies: must not be of dense axes, got 2 axes"});
  refuse(c.frequencies.numerics = Numerics::ggml, {"numerics must be exact"});
  refuse((c.frequencies.inv_freq.clear(), c), {"inv_freq"});
  refuse((c.frequencies.turns.clear(), c), {"turns"});
  const HeadWindow of_16{.head_dim = 16, .rotary_dim = 2, .pairing = Pairing::half};
  refuse(c.frequencies = test::value_of(make_frequencies(of_16, {1.0}, 1)),
         {"head_dim must be the features of q, 14", "got 16"});
  const std::vector<AttentionSequence> twice = {{0, 0, 2, 0, 4, 0, 0}, {0, 2, 2, 3, 4, 3, 0}};
  refuse(c.options.attend.sequences = twice, {"a key must stand at one position", "token 3"});
  const std::vector<AttentionSequence> outside = {{0, 0, 2, 8, 4, 0, 0}};
  refuse(c.options.attend.sequences = outside, {"keys must be among the 9"});
  refuse(c.v = c.out, {"v: batch, tokens and heads must be those of k"});
  c.out = c.q_tensor.view();
  refuse(c.out.extents.features = 5, {"out and q must share no element"});
}

TEST_F(PositionMapsErrors, OptionsThatMapsDoNotUseAreRefused) {
  const RelativeBias bias = Alibi{.heads = 4};
  const ShawTable shaw;
  std::vector<std::byte> memory(64);
  AttendOptions& options = c.options.attend;
  refuse_option(options.mask.order = AttentionOrder::bidirectional, "mask");
  refuse_option(options.mask.order = {}, "mask");
  refuse_option(options.mask.right = 1, "mask");
  refuse_option(options.mask.sinks = 1, "mask");
  refuse_option(options.encoding.bias = &bias, "encoding");
  refuse_option(options.encoding.cached_keys = &c.frequencies, "encoding");
  refuse_option(options.encoding.shaw_keys = &shaw, "encoding");
  refuse_option(options.encoding.shaw_values = &shaw, "encoding");
  refuse_option(options.weights = ScoresView{}, "weights");
  refuse_option(options.memory = memory, "memory");
}

// A bound of 2^62 positions or more counts as no bound.
TEST(PositionMaps, AnUnreachableAngleBoundsNoDistance) {
  EXPECT_EQ(positions_to(0x1p21, 0x1p-40), std::int64_t{1} << 61);
  EXPECT_EQ(positions_to(0x1p22, 0x1p-40), any_distance);
  EXPECT_EQ(positions_to(1, -0.25), 4);
  EXPECT_EQ(positions_to(1, 0), any_distance);
}

}  // namespace
}  // namespace rotary
