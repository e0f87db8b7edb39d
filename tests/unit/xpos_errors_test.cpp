// SPDX-License-Identifier: Apache-2.0
// The requirements of xPos for specs, positions and roles, and calls that refuse rows with xPos.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "rotary/rotate.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::refused;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr ConsecutivePositions some{.first = 0, .tokens = 2};

RotarySpec spec_with(const Xpos& xpos) {
  return {.head_dim = 8, .base = 10000.0, .pairing = Pairing::interleaved, .xpos = xpos};
}

Frequencies frequencies_with(const Xpos& xpos) {
  return test::value_of(make_frequencies(spec_with(xpos)));
}

TEST(XposErrors, InvalidNumbersAreRefused) {
  for (const double bad : {0.0, -512.0, nan, infinity}) {
    refused(make_frequencies(spec_with({.scale_base = bad})),
            {"xpos.scale_base must be finite and > 0", "got"});
    Frequencies frequencies = frequencies_with({});
    frequencies.xpos->scale_base = bad;
    refused(make_rotations(frequencies, some, {.role = Role::key}), {"xpos.scale_base"});
  }
  for (const double bad : {nan, infinity, -infinity}) {
    refused(make_frequencies(spec_with({.center = bad})), {"xpos.center must be finite", "got"});
  }
}

TEST(XposErrors, InvalidRolesAreRefused) {
  const Frequencies xpos = frequencies_with({});
  refused(make_rotations(xpos, some), {"role must be query or key", "xpos", "got none"});
  refused(make_rotations(xpos, some, {.role = static_cast<Role>(3)}),
          {"role must be query or key", "got value 3"});
  Frequencies plain = xpos;
  plain.xpos.reset();
  refused(make_rotations(plain, some, {.role = Role::query}),
          {"role must be left out", "got query"});
  const float cos[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  const float sin[8] = {};
  refused(
      make_rotations(
          plain.window,
          CosSinView{.cos = cos, .sin = sin, .dtype = DType::f32, .tokens = 2, .token_stride = 4},
          {.role = Role::key}),
      {"role must be left out", "existing rows", "got key"});
}

TEST(XposErrors, RemakingMustNotAddOrRemoveXpos) {
  const Frequencies xpos = frequencies_with({});
  Frequencies plain = xpos;
  plain.xpos.reset();
  Rotations with_role = test::value_of(make_rotations(xpos, some, {.role = Role::key}));
  Rotations without = test::value_of(make_rotations(plain, some));
  refused(remake_rotations(with_role, plain, some), {"role must be left out", "got key"});
  refused(remake_rotations(without, xpos, some), {"role must be query or key"});
  EXPECT_EQ(with_role.role(), Role::key);
  EXPECT_EQ(without.role(), std::nullopt);
}

// The fastest pair's factor doubles log2(7/2) / 512 times per position: 60 times in 16997.2.
TEST(XposErrors, PositionsTooFarFromTheCenterAreRefused) {
  const Frequencies frequencies = frequencies_with({.center = 100});
  const auto far_off = [&](const Positions& positions, std::string_view position) {
    for (const Role role : {Role::query, Role::key}) {
      refused(make_rotations(frequencies, positions, {.role = role}),
              {"[2^-60, 2^60]", position, "center 100", "scale_base 512"});
    }
  };
  const auto accepted = [&](const Positions& positions) {
    for (const Role role : {Role::query, Role::key}) {
      EXPECT_EQ(test::value_of(make_rotations(frequencies, positions, {.role = role})).role(),
                role);
    }
  };
  accepted(ConsecutivePositions{.first = 100 - 16997, .tokens = 2 * 16997 + 1});
  far_off(ConsecutivePositions{.first = 100 - 16998, .tokens = 4}, "position -16898");
  far_off(ConsecutivePositions{.first = 17090, .tokens = 9}, "position 17098");
  const std::vector<std::int64_t> far = {0, std::numeric_limits<std::int64_t>::min(), 0};
  far_off(positions_of(std::span(far)), "position -9223372036854775808");
  const std::vector<double> between = {0.5, 17097.5};
  far_off(positions_of(std::span(between)), "position 17097.5");
  far_off(TokenArray<double>{.data = &between[1], .tokens = 1 << 20, .token_stride = 0},
          "position 17097.5");
  accepted(ConsecutivePositions{.first = 1 << 20, .tokens = 0});
}

TEST(XposErrors, TinyScaleBasesAreRefusedAwayFromTheCenter) {
  for (const double tiny : {1e-300, std::numeric_limits<double>::denorm_min()}) {
    const Frequencies frequencies = frequencies_with({.scale_base = tiny});
    refused(make_rotations(frequencies, some, {.role = Role::query}), {"position 1"});
    const ConsecutivePositions at_the_center{.first = 0, .tokens = 1};
    EXPECT_TRUE(make_rotations(frequencies, at_the_center, {.role = Role::query}));
  }
}

TEST(XposErrors, InverseAndSharedRotationsAreRefused) {
  const Frequencies frequencies = frequencies_with({});
  const Extents extents{.tokens = 2, .heads = 1, .features = 8};
  for (const Role role : {Role::query, Role::key}) {
    const Rotations rotations = test::value_of(make_rotations(frequencies, some, {.role = role}));
    test::Tensor q = test::random_tensor({.extents = extents}, 1);
    test::Tensor k = test::random_tensor({.extents = extents}, 2);
    const auto q_bytes = q.bytes();
    const std::string_view other = role == Role::query ? "role key" : "role query";
    refused(rotate(q.view(), q.view(), rotations, {.direction = Direction::inverse}),
            {"direction inverse", to_string(role), "transpose", other});
    refused(rotate_qk(q.view(), k.view(), rotations),
            {"rotations must serve q and k alike", to_string(role)});
    EXPECT_EQ(q.bytes(), q_bytes);
  }
}

}  // namespace
}  // namespace rotary
