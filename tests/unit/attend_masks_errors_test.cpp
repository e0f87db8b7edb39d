// SPDX-License-Identifier: Apache-2.0
// The requirements of attend() on its softcap and masks of pairs, broken once: the error says it
// and what was got, and no byte has changed.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rotary/position_maps.hpp"
#include "support/attention/errors.hpp"
#include "support/error_matchers.hpp"

namespace rotary {
namespace {

constexpr ScoresExtents scores{.batch = 2, .heads = 4, .queries = 3, .keys = 5};

class AttendMasksErrors : public test::AttendErrors {
 protected:
  AttendMasksErrors() {
    options.softcap = 50;
    options.additive_mask =
        ConstScoresView{numbers.data(), DType::f32, scores, strides_bhqk(scores)};
    options.boolean_mask = BooleanMaskView{booleans.data(), scores, strides_bhqk(scores)};
  }

  std::vector<float> numbers = std::vector<float>(120, 0.5F);
  std::vector<std::uint8_t> booleans = std::vector<std::uint8_t>(120, 1);
};

TEST_F(AttendMasksErrors, NoneToBeginWith) {
  EXPECT_TRUE(attend(out, q, k, v, options));
  EXPECT_TRUE(attend_bytes(q, k, v, options));
  options.sequences = sequences;
  EXPECT_TRUE(attend(out, q, pages, options));
}

TEST_F(AttendMasksErrors, Softcaps) {
  for (const double cap : {0.0, -0.0, -50.0, std::nan(""), HUGE_VAL, 0x1p-65, 0x1.1p64}) {
    options.softcap = cap;
    expect_refused({"softcap must be from 2^-64 to 2^64, or absent for none, got"});
  }
}

TEST_F(AttendMasksErrors, Extents) {
  const auto refused = [&](std::string_view name) {
    expect_refused({name,
                    ": each extent must be 1 or that of the scores, batch 2, heads 4, "
                    "queries 3, keys 5; got"});
  };
  for (std::int64_t ScoresExtents::*extent : {&ScoresExtents::batch, &ScoresExtents::heads,
                                              &ScoresExtents::queries, &ScoresExtents::keys}) {
    for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, scores.*extent + 1}) {
      options.additive_mask->extents.*extent = wrong;
      refused("additive_mask");
      options.additive_mask->extents = scores;
      options.boolean_mask->extents.*extent = wrong;
      refused("boolean_mask");
      options.boolean_mask->extents = scores;
    }
  }
  pages.table.blocks_of_sequence = 2;
  pages.table.stride = 0;
  options.sequences = sequences;
  expect_paged_refused({"additive_mask: each extent must be 1 or", "keys 10", "got", "keys 5"});
}

TEST_F(AttendMasksErrors, Views) {
  const ConstScoresView good = *options.additive_mask;
  options.additive_mask->dtype = DType{};
  expect_refused({"additive_mask: dtype must be f32, bf16, f16 or f64", "got value 0"});
  options.additive_mask->dtype = DType::f64;
  expect_refused({"additive_mask: dtype must be f32, bf16 or f16", "got f64"},
                 ErrorCode::unsupported);
  options.additive_mask = good;
  options.additive_mask->data = nullptr;
  expect_refused({"additive_mask: data must not be null"});
  options.additive_mask->data =
      booleans.data() + 2 - reinterpret_cast<std::uintptr_t>(booleans.data()) % 4 + 4;
  expect_refused({"additive_mask: data must be aligned to its element size, 4", "2 bytes off"});
  options.additive_mask = good;
  options.additive_mask->strides.query = test::highest;
  expect_refused({"additive_mask: the view must span less than 2^62 bytes", "query 9223"});
  options.additive_mask = good;
  options.boolean_mask->data = nullptr;
  expect_refused({"boolean_mask: data must not be null"});
  options.boolean_mask->data = booleans.data();
  options.boolean_mask->strides.key = test::lowest;
  expect_refused({"boolean_mask: the view must span less than 2^62 bytes", "key -9223"});
}

// Strides of axes with one element mean nothing.
TEST_F(AttendMasksErrors, TakesUnusedStrides) {
  options.additive_mask->extents = {.batch = 1, .heads = 1, .queries = 1, .keys = 5};
  options.additive_mask->strides = {test::lowest, test::highest, test::highest, 1};
  options.boolean_mask->extents = {.batch = 1, .heads = 1, .queries = 3, .keys = 1};
  options.boolean_mask->strides = {test::lowest, test::highest, 1, test::highest};
  EXPECT_TRUE(attend(out, q, k, v, options));
  // An empty call has no element to look at.
  k.extents.tokens = v.extents.tokens = 0;
  options.additive_mask->extents.keys = options.boolean_mask->extents.keys = 0;
  options.additive_mask->data = options.boolean_mask->data = nullptr;
  options.additive_mask->strides = {test::lowest, test::highest, test::highest, test::highest};
  EXPECT_TRUE(attend(out, q, k, v, options));
}

TEST_F(AttendMasksErrors, Overlaps) {
  const void* const good = numbers.data();
  options.additive_mask->data = out.data;
  expect_refused({"out and additive_mask must share no element"});
  options.additive_mask->data = good;
  options.boolean_mask->data = static_cast<const std::byte*>(out.data) + 3;
  expect_refused({"out and boolean_mask must share no element"});
  options.boolean_mask->data = sums.data() + 2;
  expect_refused({"log_sum_exp and boolean_mask must share no element"});
  options.boolean_mask->data = booleans.data();
  alignas(64) static std::array<std::byte, std::size_t{1} << 22> room;
  options.memory = room;
  options.boolean_mask->data = room.data() + 64;
  expect_refused({"memory and boolean_mask must share no element"});
  options.boolean_mask->data = booleans.data();
  EXPECT_TRUE(attend(out, q, k, v, options));
}

TEST_F(AttendMasksErrors, PositionMapsTakeNone) {
  const Frequencies frequencies = test::frequencies_of(
      {.head_dim = 6, .rotary_dim = 4, .first_feature = 0, .pairing = Pairing::half});
  MappedAttention mapped{.map = ClippedAngle{}, .frequencies = &frequencies};
  mapped.attend = {.scale = 0.4, .mask = {.order = AttentionOrder::causal}};
  ASSERT_TRUE(attend_mapped(out, q, k, v, mapped));
  for (int i = 0; i < 3; ++i) {
    mapped.attend.softcap = i == 0 ? options.softcap : std::nullopt;
    mapped.attend.additive_mask = i == 1 ? options.additive_mask : std::nullopt;
    mapped.attend.boolean_mask = i == 2 ? options.boolean_mask : std::nullopt;
    EXPECT_TRUE(test::fails(attend_mapped(out, q, k, v, mapped), ErrorCode::unsupported,
                            {"softcap and masks of pairs: a position map takes none"}));
  }
}

}  // namespace
}  // namespace rotary
