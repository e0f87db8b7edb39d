// SPDX-License-Identifier: Apache-2.0
// Errors of make_shift and shift state the requirement and the value, and leave keys, scales and
// rotations unchanged.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rotary/shift.hpp"
#include "support/called.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::refused;
constexpr HeadWindow window{
    .head_dim = 10, .rotary_dim = 8, .first_feature = 0, .pairing = Pairing::half};
constexpr ConsecutivePositions places{.first = 7, .tokens = 4};
constexpr ConsecutivePositions new_places{.first = 2, .tokens = 4};

Status refusal(const RotatedAt& from, const RotatedAt& to) {
  const HeadsView none{
      .dtype = DType::f32, .extents = {.tokens = 4, .heads = 0, .features = 10}, .strides = {}};
  return test::called::shift(none, from, to);
}

TEST(ShiftErrors, SidesThatDoNotFitAreRefused) {
  const Frequencies ours = test::frequencies_of(window);
  const auto with = [&](const Frequencies& from, const Frequencies& to) {
    return refusal({from, places}, {to, new_places});
  };
  HeadWindow other = window;
  other.pairing = Pairing::interleaved;
  refused(with(ours, test::frequencies_of(other)),
          {"same features", "half pairs of features 0 to 7 of 10",
           "interleaved pairs of features 0 to 7 of 10"});
  for (const HeadWindow& wrong :
       {HeadWindow{.head_dim = 12, .rotary_dim = 8, .pairing = Pairing::half},
        HeadWindow{.head_dim = 10, .rotary_dim = 6, .pairing = Pairing::half},
        HeadWindow{
            .head_dim = 10, .rotary_dim = 8, .first_feature = 2, .pairing = Pairing::half}}) {
    refused(with(ours, test::frequencies_of(wrong)), {"same features"});
    refused(with(test::frequencies_of(wrong), ours), {"same features"});
  }
  const Positions five = ConsecutivePositions{.first = 7, .tokens = 5};
  refused(refusal({ours, places}, {ours, five}), {"same tokens", "got 4 and 5"});
  const std::array<std::int32_t, 24> numbers{};
  refused(refusal({ours, positions_of(std::span(numbers).first(8), 2)},
                  {ours, positions_of(std::span(numbers).first(12), 3)}),
          {"same batch", "got 2 and 3"});
  refused(with(test::frequencies_of(window, 0x1p-12), test::frequencies_of(window, 512)),
          {"2^-20 to 2^20 times", "512"});
}

TEST(ShiftErrors, NameTheWrongSide) {
  const Frequencies ours = test::frequencies_of(window);
  const auto both_ways = [&](const RotatedAt& wrong, test::Parts parts,
                             ErrorCode code = ErrorCode::invalid_argument) {
    const auto from = refusal(wrong, {ours, new_places});
    const auto to = refusal({ours, places}, wrong);
    refused(from, parts, code);
    refused(from, {"from: "}, code);
    refused(to, parts, code);
    refused(to, {"to: "}, code);
  };
  Frequencies other = ours;
  other.numerics = Numerics::ggml;
  both_ways({other, places}, {"exact", "got ggml"}, ErrorCode::unsupported);
  other = ours;
  other.xpos = Xpos{};
  both_ways({other, places}, {"without xpos", "512"}, ErrorCode::unsupported);
  other = ours;
  other.turns.pop_back();
  both_ways({other, places}, {"turns", "4", "got 3"});
  other = ours;
  other.attention_factor = 0;
  both_ways({other, places}, {"attention_factor"});
  other = ours;
  other.contexts.last = 9;
  both_ways({other, places}, {"below 9"});
  const ConsecutivePositions beyond{.first = INT64_MAX - 2, .tokens = 4};
  both_ways({ours, beyond}, {"within int64"});
  both_ways({ours, ConsecutivePositions{.tokens = -1}}, {"got -1"});
  both_ways({ours, TokenArray<std::int64_t>{.data = nullptr, .batch = 0, .tokens = 4}},
            {"batch", "got 0"});
  both_ways({ours, TokenArray<std::int32_t>{.tokens = 4}}, {"null"});
}

TEST(ShiftErrors, InvalidMemoryAndOptionsAreRefused) {
  const Frequencies ours = test::frequencies_of(window);
  const Frequencies slower = test::frequencies_of(window, 2);
  const RotatedAt from{ours, places};
  const RotatedAt to{ours, new_places};
  refused(make_shift(from, to, {.role = Role::key}), {"role", "got key"});
  const std::size_t one_row = test::value_of(row_bytes(window, 1, 1, RowDType::f32));
  alignas(64) std::array<std::byte, 4096> memory{};
  const Rotations by =
      test::value_of(make_shift(from, to, {.memory = std::span(memory).first(one_row)}));
  EXPECT_EQ(static_cast<const void*>(by.data()), memory.data());
  EXPECT_EQ(by.tokens(), 4);
  refused(make_shift(from, to, {.memory = std::span(memory).first(one_row - 4)}),
          {"must hold 128 bytes, which the one row", "got 124"});
  auto* const numbers = reinterpret_cast<std::int64_t*>(memory.data() + 256);
  refused(make_shift(from, {ours, positions_of(std::span<const std::int64_t>(numbers, 4))},
                     {.memory = memory}),
          {"to: ", "memory must share no element"});

  // A failed call leaves rotations unchanged. A later valid call needs no more memory.
  Rotations again = by;
  const auto bytes = memory;
  Frequencies changed = slower;
  changed.turns[0] += 1;
  refused(remake_shift(again, from, {changed, new_places}),
          {"memory must hold 512 bytes", "the rows"});
  EXPECT_EQ(memory, bytes);
  test::require(remake_shift(again, to, from));
  EXPECT_NE(memory, bytes);
}

TEST(ShiftErrors, RotationsThatAreNotAShiftAreRefused) {
  HeadWindow latent = window;
  latent.pairing = Pairing::interleaved_to_half;
  Frequencies xpos = test::frequencies_of(window);
  xpos.xpos = Xpos{};
  Frequencies recipe = test::frequencies_of(window);
  recipe.numerics = Numerics::transformers;
  recipe.rounding = Rounding::result;
  const Extents extents{.tokens = 4, .heads = 2, .features = 10};
  const test::Tensor src = test::random_tensor({.extents = extents}, 70);
  test::Tensor keys = src;
  const auto with = [&](const Frequencies& frequencies, const RotationsOptions& options = {}) {
    return shift(keys.view(), test::value_of(make_rotations(frequencies, places, options)));
  };
  refused(with(test::frequencies_of(latent)), {"make_shift", "halves"});
  refused(with(xpos, {.role = Role::key}), {"keys alone", "role key"});
  refused(with(recipe), {"exact", "got transformers"}, ErrorCode::unsupported);
  const Frequencies ours = test::frequencies_of(window);
  refused(
      test::called::shift(keys.view(), {ours, places}, {ours, ConsecutivePositions{.tokens = 3}}),
      {"same tokens"});
  HeadsView wrong = keys.view();
  wrong.strides.head = 0;
  refused(test::called::shift(wrong, {ours, places}, {ours, new_places}), {"distinct"});
  EXPECT_EQ(keys.bytes(), src.bytes());
}

TEST(ShiftErrors, KeysThatDoNotFitAreRefused) {
  const Frequencies ours = test::frequencies_of(window);
  std::vector<float> elements(5 * 10, 1);
  const Extents five{.tokens = 5, .heads = 1, .features = 10};
  HeadsView keys{elements.data(), DType::f32, five, strides_bthd(five)};
  const auto turned = [&] { return test::called::shift(keys, {ours, places}, {ours, new_places}); };
  refused(turned(), {"keys: tokens", "4", "got 5"});
  keys.extents.tokens = 4;
  keys.strides.token = 0;
  refused(turned(), {"keys: "});
  EXPECT_EQ(elements, std::vector<float>(5 * 10, 1));
}

// int8 keys of four tokens, followed by their scales.
struct ShiftCall {
  alignas(4) std::array<std::int8_t, 160> bytes{};
  Frequencies ours = test::frequencies_of(window);
  QuantizedHeadsView view{.data = bytes.data(),
                          .scales = reinterpret_cast<float*>(bytes.data() + 80),
                          .extents = {.tokens = 4, .heads = 2, .features = 10},
                          .strides = {.token = 20, .head = 10},
                          .scale_strides = {.token = 2, .head = 1}};
  Rotations by = with({});

  ShiftCall() { bytes.fill(3); }
  [[nodiscard]] Rotations with(const RotationsOptions& options) const {
    return test::value_of(make_shift({ours, places}, {ours, new_places}, options));
  }
  [[nodiscard]] auto written() const { return bytes; }
  [[nodiscard]] Status run() const { return shift(view, by); }
};

using ShiftErrorsOfBytes = test::Refusals<ShiftCall>;

TEST_F(ShiftErrorsOfBytes, QuantizedViewsThatDoNotFitAreRefused) {
  const auto at = [&](std::size_t byte) { return reinterpret_cast<float*>(c.bytes.data() + byte); };
  refuse(c.view.data = nullptr, {"data must not be null"});
  refuse(c.view.scales = nullptr, {"scales: data must not be null"});
  refuse(c.view.scales = at(81), {"aligned", "1 bytes off"});
  refuse(c.view.extents.tokens = 5, {"tokens", "4; got 5"});
  refuse(c.view.extents.features = 8, {"head_dim", "10; got 8"});
  refuse(c.view.extents.heads = -1, {">= 0"});
  refuse(c.view.strides.feature = 2, {"keys: features must be adjacent"});
  refuse(c.view.strides.head = 9, {"keys", "distinct"});
  refuse(c.view.strides.token = INT64_MAX / 2, {"less than 2^61"});
  refuse(c.view.scale_strides.head = 0, {"scales", "distinct"});
  refuse(c.view.scale_strides.token = INT64_MAX / 2, {"scales", "2^62"});
  refuse(c.view.scales = at(76), {"share no byte"});
  refuse(c.by = c.with({.rows = RowDType::f64}), {"f32 rows", "got f64"});
  refuse(c.by = c.with({.tensors = DType::bf16}), {"bf16", "got int8"});
  const auto before = c.bytes;
  const RotatedAt three{c.ours, ConsecutivePositions{.tokens = 3}};
  refused(shift(c.view, {c.ours, places}, three), {"same tokens"});
  EXPECT_EQ(c.bytes, before);
  c.view.data = nullptr;
  accept(c.view.extents.heads = 0);
  EXPECT_TRUE(c.run());
  EXPECT_NE(c.bytes, before);
}

}  // namespace
}  // namespace rotary
