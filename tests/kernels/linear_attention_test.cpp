// SPDX-License-Identifier: Apache-2.0
// Compares linear_attend with the reference, which uses no running sums, chunks or reduced
// exponents. Covers every dtype, mask, feature map and grouping of heads, sizes near a chunk,
// packed documents, decode steps and extreme features.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "rotary/numeric_contract.hpp"
#include "support/attention/linear.hpp"
#include "support/cases.hpp"
#include "support/executors.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::attended;
using test::for_each_element;
using test::HeadIndex;
using test::is_linear_attention;
using test::Layout;
using test::LinearCase;
using test::LinearShape;
using test::Qkv;
using test::Tensor;

constexpr std::array masks = {LinearMask::causal, LinearMask::bidirectional};

// [6][10]: one block of orthogonal directions and part of another.
const std::vector<float>& directions() {
  static const auto made =
      test::value_of(make_random_features({.head_dim = 6, .features = 10, .seed = 7}));
  return made;
}

std::vector<FeatureMap> all_maps() {
  return {EluPlusOne{}, SoftmaxExp{},
          PositiveRandomFeatures{.directions = directions(), .softmax_scale = 0.4}};
}

HeadWindow window_for(const FeatureMap& map, Pairing pairing) {
  const bool random = std::holds_alternative<PositiveRandomFeatures>(map);
  return {.head_dim = random ? 10 : 6, .rotary_dim = 4, .first_feature = 1, .pairing = pairing};
}

struct OwnedState {
  std::vector<double> values, keys, exponents;

  OwnedState(std::int64_t heads, std::int64_t features, std::int64_t v_features)
      : values(static_cast<std::size_t>(heads * features * v_features)),
        keys(static_cast<std::size_t>(heads * features)),
        exponents(static_cast<std::size_t>(heads)) {}
  [[nodiscard]] LinearState view() { return {values, keys, exponents}; }
};

TEST(LinearAttention, IsWithinTheBoundOfTheReference) {
  std::uint64_t seed = 100;
  for (const DType dtype : test::all_dtypes) {
    for (const LinearMask mask : masks) {
      for (const FeatureMap& map : all_maps()) {
        for (const std::int64_t group : {1, 3}) {
          LinearCase of{.map = map, .mask = mask};
          const auto turned = static_cast<std::size_t>(++seed % 4);
          if (turned < all_pairings.size()) {
            of.window = window_for(map, all_pairings[turned]);
            of.first_position = 100'000;
          }
          SCOPED_TRACE(std::string(to_string(dtype)) + " map " + std::to_string(map.index()) +
                       (mask == LinearMask::causal ? " causal group " : " bidirectional group ") +
                       std::to_string(group) + " turned " + std::to_string(turned));
          constexpr std::array layouts = {Layout::bthd, Layout::bhtd, Layout::padded,
                                          Layout::reversed_tokens, Layout::fused_qkv};
          const Qkv qkv = test::random_qkv({.dtype = dtype,
                                            .batch = 2,
                                            .tokens = 70,
                                            .heads = 2 * group,
                                            .key_heads = 2,
                                            .head_dim = 6,
                                            .v_features = 5,
                                            .layout = layouts[seed % layouts.size()]},
                                           seed);
          ASSERT_TRUE(is_linear_attention(attended(of, qkv, layouts[(seed + 2) % layouts.size()]),
                                          0, of, qkv));
        }
      }
    }
  }
}

// After one token, the state's keys are the features of the token's key: x + 1 above 0, else e^x.
TEST(LinearAttention, FeaturesAreWithinTheirBound) {
  constexpr std::int64_t features = 20'000;
  for (const DType dtype : test::all_dtypes) {
    const double least = dtype == DType::f64 ? -708 : -87;
    const double unit = dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
    Qkv qkv = test::random_qkv({.dtype = dtype, .tokens = 1, .head_dim = features}, 213);
    test::Random random(214);
    for_each_element(qkv.k.extents(), [&](const HeadIndex& at, std::int64_t f) {
      const double range = f % 3 == 0 ? least : (f % 3 == 1 ? -1 : 9);
      qkv.k.set(at, f, random.unit() * range);
    });
    OwnedState state(1, features, 4);
    Tensor out = test::out_for(qkv);
    test::require(linear_attend(out.view(), qkv.heads(), EluPlusOne{},
                                {.mask = LinearMask::causal, .state = state.view()}));
    for_each_element(qkv.k.extents(), [&](const HeadIndex& at, std::int64_t f) {
      const long double x = qkv.k.at(at, f);
      const long double exact = x > 0 ? x + 1 : std::exp(x);
      const double got = state.keys[static_cast<std::size_t>(f)];
      ASSERT_LE(std::abs(got - exact), elu_feature_error * unit * exact)
          << to_string(dtype) << " of " << qkv.k.at(at, f);
    });
  }
}

// Sizes near those of vectors, blocks of queries and chunks.
TEST(LinearAttention, IsWithinTheBoundForSizesNearBlocks) {
  for (const LinearMask mask : masks) {
    for (const std::int64_t tokens : {0, 1, 2, 15, 16, 17, 33, 63, 64, 65, 129, 200}) {
      const std::int64_t head_dim = 1 + tokens % 5;
      const std::int64_t v_features = 1 + tokens % 19;
      SCOPED_TRACE(std::to_string(tokens) + " tokens");
      const LinearCase of{.map = EluPlusOne{}, .mask = mask};
      const Qkv qkv = test::random_qkv({.tokens = tokens,
                                        .heads = 2,
                                        .key_heads = 2,
                                        .head_dim = head_dim,
                                        .v_features = v_features},
                                       200);
      ASSERT_TRUE(is_linear_attention(attended(of, qkv), 0, of, qkv));
    }
    for (const std::int64_t size : {1, 2, 3, 16, 31, 48, 80}) {
      SCOPED_TRACE(std::to_string(size) + " features");
      const LinearCase of{.map = SoftmaxExp{}, .mask = mask};
      const Qkv qkv =
          test::random_qkv({.tokens = 20, .head_dim = size, .v_features = 81 - size}, 201);
      ASSERT_TRUE(is_linear_attention(attended(of, qkv), 0, of, qkv));
    }
  }
}

// Cross-attention, also without keys.
TEST(LinearAttention, IsWithinTheBoundForAnyNumberOfKeys) {
  for (const FeatureMap& map : all_maps()) {
    for (const std::int64_t keys : {0, 1, 90}) {
      LinearCase of{.map = map, .mask = LinearMask::bidirectional};
      of.window = window_for(map, Pairing::half);
      const Qkv qkv = test::random_qkv(
          {.tokens = 67, .key_tokens = keys, .heads = 2, .head_dim = 6, .v_features = 3}, 202);
      ASSERT_TRUE(is_linear_attention(attended(of, qkv), 0, of, qkv)) << keys << " keys";
    }
  }
}

// Padding anywhere, short and long documents, and a document number that is used twice.
TEST(LinearAttention, IgnoresPaddingAndKeysOfOtherDocuments) {
  std::vector<std::int32_t> segments;
  const auto append = [&](std::int64_t count, std::int32_t number) {
    segments.insert(segments.end(), static_cast<std::size_t>(count), number);
  };
  for (const auto& [count, number] : std::vector<std::pair<std::int64_t, std::int32_t>>{
           {3, -1}, {1, 5}, {70, 0}, {2, -7}, {9, 0}, {1, 2}, {20, 5}, {4, -1}}) {
    append(count, number);
  }
  append(40, 1);
  append(70, 2);
  for (const FeatureMap& map : all_maps()) {
    for (const LinearMask mask : masks) {
      LinearCase of{.map = map, .mask = mask, .segments = segments};
      of.window = window_for(map, Pairing::interleaved);
      const Qkv qkv = test::random_qkv(
          {.batch = 2, .tokens = 110, .heads = 2, .head_dim = 6, .v_features = 3}, 203);
      ASSERT_TRUE(is_linear_attention(attended(of, qkv), 0, of, qkv));
      // The same documents in every batch row.
      LinearCase shared = of;
      shared.segments.resize(110);
      ASSERT_TRUE(is_linear_attention(attended(shared, qkv), 0, shared, qkv));
    }
  }
}

Tensor part_of(const Tensor& whole, std::int64_t begin, std::int64_t count) {
  Extents extents = whole.extents();
  extents.tokens = count;
  Tensor part({.dtype = whole.view().dtype, .extents = extents});
  for_each_element(extents, [&](const HeadIndex& at, std::int64_t f) {
    HeadIndex from = at;
    from.token += begin;
    part.set_bits(at, f, whole.bits_at(from, f));
  });
  return part;
}

TEST(LinearAttention, StepsFromAStateAreWithinTheBoundOfOneCall) {
  for (const DType dtype : test::all_dtypes) {
    for (const FeatureMap& map : all_maps()) {
      LinearCase of{.map = map, .first_position = 9000};
      of.window = window_for(map, Pairing::half);
      const Qkv qkv = test::random_qkv(
          {.dtype = dtype, .tokens = 90, .heads = 2, .head_dim = 6, .v_features = 3}, 204);
      OwnedState state(1, of.window->head_dim, 3);
      std::int64_t begin = 0;
      for (const std::int64_t count : {70, 1, 1, 17, 0, 1}) {
        const Qkv part{part_of(qkv.q, begin, count), part_of(qkv.k, begin, count),
                       part_of(qkv.v, begin, count)};
        LinearCase here = of;
        here.first_position += begin;
        const auto rotations = test::rotations_for(here, dtype, count);
        LinearAttentionOptions options{.mask = LinearMask::causal, .state = state.view()};
        options.rotations.emplace(NumeratorRotations{*rotations, *rotations});
        Tensor out = test::out_for(part);
        test::require(linear_attend(out.view(), part.heads(), map, options));
        ASSERT_TRUE(is_linear_attention(out, begin, of, qkv)) << "from token " << begin;
        begin += count;
      }
      // Queries without new keys see all keys so far.
      const LinearCase all{.map = map, .mask = LinearMask::bidirectional};
      OwnedState more(1, of.window->head_dim, 3);
      for (const std::int64_t half : {0, 45}) {
        const Qkv keys{part_of(qkv.q, 0, 0), part_of(qkv.k, half, 45), part_of(qkv.v, half, 45)};
        Tensor nothing = test::out_for(keys);
        test::require(linear_attend(nothing.view(), keys.heads(), map,
                                    {.mask = LinearMask::bidirectional, .state = more.view()}));
      }
      const Qkv queries{qkv.q, part_of(qkv.k, 0, 0), part_of(qkv.v, 0, 0)};
      Tensor out = test::out_for(queries);
      test::require(linear_attend(out.view(), queries.heads(), map,
                                  {.mask = LinearMask::bidirectional, .state = more.view()}));
      ASSERT_TRUE(is_linear_attention(out, 0, all, qkv));
    }
  }
}

// A later call may continue the last document from this state.
TEST(LinearAttention, LeavesTheStateOfTheLastDocument) {
  for (const LinearMask mask : masks) {
    const LinearCase of{.map = EluPlusOne{}, .mask = mask, .segments = {1, 1, 2, 2, 2, -1}};
    const Qkv qkv = test::random_qkv({.tokens = 6, .head_dim = 2, .v_features = 2}, 205);
    OwnedState state(1, 2, 2);
    OwnedState last(1, 2, 2);
    LinearAttentionOptions options{
        .mask = mask, .segments = test::segments_of(of, 1), .state = state.view()};
    Tensor out = test::out_for(qkv);
    test::require(linear_attend(out.view(), qkv.heads(), of.map, options));
    const Qkv part{part_of(qkv.q, 2, 3), part_of(qkv.k, 2, 3), part_of(qkv.v, 2, 3)};
    Tensor alone = test::out_for(part);
    test::require(
        linear_attend(alone.view(), part.heads(), of.map, {.mask = mask, .state = last.view()}));
    EXPECT_EQ(state.values, last.values);
    EXPECT_EQ(state.keys, last.keys);
    EXPECT_EQ(part_of(out, 2, 3).all_bits(), alone.all_bits());
  }
}

// Exponents vary by far more than float32 holds, within and between chunks. Only keys that a query
// sees may scale its sums.
TEST(LinearAttention, IsWithinTheBoundForExponentsFarApart) {
  for (const FeatureMap& map : all_maps()) {
    for (const LinearMask mask : masks) {
      for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
        const LinearCase of{.map = map, .mask = mask};
        Qkv qkv =
            test::random_qkv({.dtype = dtype, .tokens = 90, .head_dim = 6, .v_features = 3}, 206);
        test::Random random(207);
        for_each_element(qkv.k.extents(), [&](const HeadIndex& at, std::int64_t f) {
          const double scale = at.token % 7 == 0 ? 30 : 1;
          const double offset = at.token < 30 ? -60 : (at.token < 60 ? 20 : 60);
          const double drift = std::holds_alternative<SoftmaxExp>(map) ? offset : 0;
          qkv.k.set(at, f, random.activation() * scale + drift);
        });
        ASSERT_TRUE(is_linear_attention(attended(of, qkv), 0, of, qkv))
            << to_string(dtype) << " map " << map.index();
      }
    }
  }
}

bool all_finite(const Tensor& tensor) {
  bool finite = true;
  for_each_element(tensor.extents(), [&](const HeadIndex& at, std::int64_t f) {
    finite = finite && std::isfinite(tensor.at(at, f));
  });
  return finite;
}

TEST(LinearAttention, IsFiniteForAnyMagnitude) {
  for (const FeatureMap& map : all_maps()) {
    for (const double epsilon : {0.0, 1e-30, 1e-6}) {
      for (const DType dtype : test::all_dtypes) {
        LinearCase of{.map = map, .epsilon = epsilon};
        Qkv qkv = test::random_qkv({.dtype = dtype, .tokens = 80, .head_dim = 6}, 208);
        test::Random random(209);
        for (Tensor* const each : {&qkv.q, &qkv.k}) {
          for_each_element(each->extents(), [&](const HeadIndex& at, std::int64_t f) {
            each->set(at, f,
                      dtype == DType::f16 ? random.magnitude(-24, 14) : random.magnitude(-30, 29));
          });
        }
        EXPECT_TRUE(all_finite(attended(of, qkv))) << to_string(dtype) << " map " << map.index();
        of.window = window_for(map, Pairing::half);
        const Tensor turned = attended(of, qkv);
        for_each_element(turned.extents(), [&](const HeadIndex& at, std::int64_t f) {
          EXPECT_FALSE(std::isnan(turned.at(at, f)));
        });
      }
    }
  }
}

// elu(-200) + 1 is 1e-87; in float32 it is 0.
TEST(LinearAttention, GivesZerosForADenominatorOfZero) {
  Qkv qkv = test::random_qkv({.tokens = 5, .head_dim = 3}, 210);
  for_each_element(qkv.k.extents(),
                   [&](const HeadIndex& at, std::int64_t f) { qkv.k.set(at, f, -200); });
  for (const double epsilon : {0.0, 1e-6}) {
    for (const LinearMask mask : masks) {
      const Tensor out = attended({.map = EluPlusOne{}, .mask = mask, .epsilon = epsilon}, qkv);
      for_each_element(out.extents(),
                       [&](const HeadIndex& at, std::int64_t f) { EXPECT_EQ(out.at(at, f), 0); });
    }
  }
}

// A key that a causal query does not see never affects it, even if the key is NaN.
TEST(LinearAttention, SpecialValuesReachOnlyQueriesThatSeeThem) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const FeatureMap& map : all_maps()) {
    const LinearCase of{.map = map};
    const Qkv clean = test::random_qkv(
        {.batch = 2, .tokens = 80, .heads = 2, .key_heads = 2, .head_dim = 6}, 211);
    const Tensor whole = attended(of, clean);
    for (const double bad : {nan, infinity, -infinity}) {
      for (const std::int64_t token : {20, 70}) {
        for (const int which : {0, 1}) {
          Qkv qkv = clean;
          (which == 0 ? qkv.k : qkv.v).set({.batch = 1, .token = token, .head = 1}, 2, bad);
          Tensor out = attended(of, qkv);
          for (std::int64_t t = token; t < 80; ++t) {
            const HeadIndex seen{.batch = 1, .token = t, .head = 1};
            for (std::int64_t f = 0; f < 4; ++f) out.set_bits(seen, f, whole.bits_at(seen, f));
          }
          ASSERT_TRUE(is_linear_attention(out, 0, of, clean));
        }
      }
    }
  }
}

TEST(LinearAttention, HasTheSameBitsForAnyLayoutMemoryAndExecutor) {
  for (const FeatureMap& map : all_maps()) {
    for (const LinearMask mask : masks) {
      const LinearCase of{.map = map, .mask = mask};
      const LinearShape shape{
          .batch = 3, .tokens = 1500, .heads = 4, .key_heads = 2, .head_dim = 6, .v_features = 9};
      const Qkv qkv = test::random_qkv(shape, 212);
      const Tensor whole = attended(of, qkv);
      const Qkv moved{moved_to(Layout::padded, qkv.q), moved_to(Layout::bhtd, qkv.k),
                      moved_to(Layout::reversed_tokens, qkv.v)};
      EXPECT_EQ(attended(of, moved, Layout::bhtd).all_bits(), whole.all_bits());
      for (const std::int64_t concurrency : {2, 4, 64}) {
        test::CountingExecutor counting(test::run_backwards, concurrency);
        LinearAttentionOptions options{.mask = mask, .executor = counting.executor()};
        const std::size_t bytes = test::value_of(linear_attend_bytes(qkv.heads(), map, options));
        std::vector<std::byte> memory(bytes + 128, std::byte{0x5A});
        const auto off = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
        options.memory = std::span(memory).subspan(64 - off, bytes);
        Tensor out = test::out_for(qkv);
        test::require(linear_attend(out.view(), qkv.heads(), map, options));
        EXPECT_EQ(out.all_bits(), whole.all_bits());
        EXPECT_EQ(counting.calls(), 1);
        EXPECT_EQ(memory[63 - off], std::byte{0x5A});
        EXPECT_EQ(memory[64 - off + bytes], std::byte{0x5A});
      }
    }
  }
}

}  // namespace
}  // namespace rotary
