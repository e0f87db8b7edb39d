// SPDX-License-Identifier: Apache-2.0
// Breaks each requirement of attend() on softcap and pair masks once. The error must state
// requirement and value, and no byte may change.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "rotary/position_maps.hpp"
#include "support/attention/errors.hpp"

namespace rotary {
namespace {

constexpr ScoresExtents scores{.batch = 2, .heads = 4, .queries = 3, .keys = 5};

template <class Call>
struct Masked : Call {
  std::vector<float> numbers = std::vector<float>(120, 0.5F);
  std::vector<std::uint8_t> booleans = std::vector<std::uint8_t>(120, 1);
  ConstScoresView& additive = this->options.additive_mask.emplace(
      ConstScoresView{numbers.data(), DType::f32, scores, strides_bhqk(scores)});
  BooleanMaskView& boolean = this->options.boolean_mask.emplace(
      BooleanMaskView{booleans.data(), scores, strides_bhqk(scores)});

  Masked() { this->options.softcap = 50; }
};

using AttendMasksErrors = test::Refusals<Masked<test::AttendCall>>;
using PagedAttendMasksErrors = test::Refusals<Masked<test::PagedAttendCall>>;

TEST_F(AttendMasksErrors, AValidCallIsAccepted) {
  EXPECT_TRUE(attend_bytes(c.q, c.k, c.v, c.options));
  accept(c);
}

TEST_F(PagedAttendMasksErrors, AValidCallIsAccepted) { accept(c); }

TEST_F(AttendMasksErrors, InvalidSoftcapsAreRefused) {
  for (const double cap : {0.0, -0.0, -50.0, std::nan(""), HUGE_VAL, 0x1p-65, 0x1.1p64})
    refuse(c.options.softcap = cap,
           {"softcap must be from 2^-64 to 2^64, or absent for none, got"});
}

TEST_F(AttendMasksErrors, WrongExtentsAreRefused) {
  const std::string requirement =
      ": each extent must be 1 or that of the scores, batch 2, heads 4, queries 3, keys 5; got";
  for (std::int64_t ScoresExtents::*extent : {&ScoresExtents::batch, &ScoresExtents::heads,
                                              &ScoresExtents::queries, &ScoresExtents::keys}) {
    for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, scores.*extent + 1}) {
      refuse(c.additive.extents.*extent = wrong, {"additive_mask", requirement});
      refuse(c.boolean.extents.*extent = wrong, {"boolean_mask", requirement});
    }
  }
}

TEST_F(PagedAttendMasksErrors, WrongExtentsAreRefused) {
  c.pages.table.stride = 0;
  refuse(c.pages.table.blocks_of_sequence = 2,
         {"additive_mask: each extent must be 1 or", "keys 10", "got", "keys 5"});
}

TEST_F(AttendMasksErrors, InvalidViewsAreRefused) {
  refuse(c.additive.dtype = DType{},
         {"additive_mask: dtype must be f32, bf16, f16 or f64", "got value 0"});
  refuse(c.additive.dtype = DType::f64,
         {"additive_mask: dtype must be f32, bf16 or f16", "got f64"}, ErrorCode::unsupported);
  refuse(c.additive.data = nullptr, {"additive_mask: data must not be null"});
  refuse(c.additive.data = reinterpret_cast<const std::byte*>(c.numbers.data()) + 2,
         {"additive_mask: data must be aligned to its element size, 4", "2 bytes off"});
  refuse(c.additive.strides.query = test::highest,
         {"additive_mask: the view must span less than 2^62 bytes", "query 9223"});
  refuse(c.boolean.data = nullptr, {"boolean_mask: data must not be null"});
  refuse(c.boolean.strides.key = test::lowest,
         {"boolean_mask: the view must span less than 2^62 bytes", "key -9223"});
}

// The stride of an axis with one element is never used.
TEST_F(AttendMasksErrors, AnyUnusedStrideIsAccepted) {
  constexpr auto lowest = test::lowest, highest = test::highest;
  c.additive.extents = {.batch = 1, .heads = 1, .queries = 1, .keys = 5};
  c.additive.strides = {lowest, highest, highest, 1};
  c.boolean.extents = {.batch = 1, .heads = 1, .queries = 3, .keys = 1};
  c.boolean.strides = {lowest, highest, 1, highest};
  EXPECT_TRUE(c.run());
  // Masks without keys hold no element, so their data may be null.
  c.k.extents.tokens = c.v.extents.tokens = 0;
  c.additive.extents.keys = c.boolean.extents.keys = 0;
  c.additive.data = c.boolean.data = nullptr;
  accept(c.additive.strides = {lowest, highest, highest, highest});
}

TEST_F(AttendMasksErrors, OverlapsWithMasksAreRefused) {
  refuse(c.additive.data = c.out.data, {"out and additive_mask must share no element"});
  refuse(c.boolean.data = static_cast<const std::byte*>(c.out.data) + 3,
         {"out and boolean_mask must share no element"});
  refuse(c.boolean.data = c.sums.data() + 2,
         {"log_sum_exp and boolean_mask must share no element"});
  alignas(64) static std::array<std::byte, std::size_t{1} << 22> room;
  c.options.memory = room;
  refuse(c.boolean.data = room.data() + 64, {"memory and boolean_mask must share no element"});
  accept(c.options.memory = room);
}

TEST_F(AttendMasksErrors, PositionMapsRefuseMasksAndSoftcaps) {
  const Frequencies frequencies = test::frequencies_of(
      {.head_dim = 6, .rotary_dim = 4, .first_feature = 0, .pairing = Pairing::half});
  MappedAttention mapped{.map = ClippedAngle{}, .frequencies = &frequencies};
  mapped.attend = {.scale = 0.4, .mask = {.order = AttentionOrder::causal}};
  ASSERT_TRUE(attend_mapped(c.out, c.q, c.k, c.v, mapped));
  for (int i = 0; i < 3; ++i) {
    mapped.attend.softcap = i == 0 ? c.options.softcap : std::nullopt;
    mapped.attend.additive_mask = i == 1 ? c.options.additive_mask : std::nullopt;
    mapped.attend.boolean_mask = i == 2 ? c.options.boolean_mask : std::nullopt;
    test::refused(attend_mapped(c.out, c.q, c.k, c.v, mapped),
                  {"softcap and masks of pairs: a position map takes none"},
                  ErrorCode::unsupported);
  }
}

}  // namespace
}  // namespace rotary
