// SPDX-License-Identifier: Apache-2.0
// Compares attention under position maps with each map's definition, for every query and key of
// several blocks. The fuzz target attend_mapped covers packed sequences, windows, temperatures,
// dtypes, strides and executors.
#include "rotary/position_maps.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/attention/attended.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttendCase;
using test::Attended;
using test::is_right;

// 5 pairs between unrotated features; the fastest completes a turn within 7 positions.
reference::Rotary rotary_of(Pairing pairing) {
  return {.window = {.head_dim = 14, .rotary_dim = 10, .first_feature = 3, .pairing = pairing},
          .inv_freq = {1.0, -0.3, 0.11, 0.02, 0.0},
          .attention_factor = 1.25};
}

AttendCase case_of(const PositionMap& map, std::int64_t queries = 73, std::int64_t keys = 73,
                   Pairing pairing = Pairing::half) {
  return {.shape = {1, queries, keys, 4, 2, 14, 5},
          .encoding = {.rotary = rotary_of(pairing)},
          .map = map,
          .scale = 0.05,
          .seed = 20250};
}

const std::vector<PositionMap>& maps() {
  static const std::vector<PositionMap> all = {
      ReRope{0},          ReRope{1},           ReRope{7},         ReRope{72},
      ReRope{73},         ReRope{1000},        LeakyReRope{0, 3}, LeakyReRope{1, 16},
      LeakyReRope{9, 4},  LeakyReRope{500, 2}, LeakyReRope{5, 1}, SelfExtend{0, 4},
      SelfExtend{1, 3},   SelfExtend{10, 4},   SelfExtend{20, 1}, SelfExtend{99, 8},
      DualChunk{12, 4},   DualChunk{8, 0},     DualChunk{9, 8},   DualChunk{10, 7},
      DualChunk{200, 3},  DualChunk{1, 0},     ClippedAngle{},    ClippedAngle{1.0},
      ClippedAngle{0.01}, ClippedAngle{1e-300}};
  return all;
}

TEST(PositionMaps, AttentionFollowsTheirDefinition) {
  for (const PositionMap& map : maps()) {
    EXPECT_TRUE(is_right(case_of(map))) << map.index();
    EXPECT_TRUE(is_right(case_of(map, 3, 19, Pairing::interleaved))) << map.index();
    EXPECT_TRUE(is_right(case_of(map, 1, 61))) << map.index();
  }
  for (const PositionMap& map :
       {PositionMap{ReRope{200}}, PositionMap{LeakyReRope{30, 3}}, PositionMap{SelfExtend{65, 16}},
        PositionMap{DualChunk{300, 37}}, PositionMap{ClippedAngle{}}}) {
    EXPECT_TRUE(is_right(case_of(map, 9, 530))) << map.index();
    EXPECT_TRUE(is_right(case_of(map, 20, 300, Pairing::interleaved_to_half))) << map.index();
  }
}

// These maps keep every distance up to 1100 tokens, which span several blocks and strides.
TEST(PositionMaps, EqualRotaryEmbeddingIfTheyKeepDistances) {
  constexpr std::int64_t tokens = 1100;
  AttendCase plain = case_of(ReRope{tokens}, tokens, tokens);
  for (const PositionMap& map :
       {*plain.map, PositionMap{LeakyReRope{300, 1}}, PositionMap{SelfExtend{700, 1}},
        PositionMap{DualChunk{2048, 1488}}}) {
    plain.map = map;
    Attended got(plain);
    test::require(got.run());
    AttendCase without = plain;
    without.map = {};
    Attended wanted(without);
    test::require(wanted.run());
    const double bound = 2 * bound_of(wanted, 2);
    for (std::int64_t token = 0; token < tokens; ++token)
      ASSERT_LE(difference(got.out, token, wanted.out, token), bound) << map.index();
  }
}

}  // namespace
}  // namespace rotary
