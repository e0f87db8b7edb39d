// SPDX-License-Identifier: Apache-2.0
// Compares xPos with torchscale in float32: 6 tokens from position 0, then the last token alone as
// a decode step with offset 5. torchscale centers its factors at ceil((tokens + offset) / 2), which
// is 3 both times; angles start at 0. torchscale's cos, sin and factor are each off by about 2^-23.
// Results are off by at most 8 * 2^-23 * 4 < 1e-5, since activations are below 4.
#include <gtest/gtest.h>

#include <string_view>

#include "golden/golden_file.hpp"
#include "rotary/rotary.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Tensor;

constexpr double tolerance = 1e-5;

// Reads [batch * heads, tokens, features] as one batch row.
Tensor tensor_of(const nlohmann::json& file, std::string_view name) {
  nlohmann::json tensor = file.at(name);
  tensor["shape"].insert(tensor["shape"].begin(), 1);
  return test::read_tensor(tensor, "B,H,T,D");
}

Tensor rotated(const Tensor& src, Role role, std::int64_t first_position) {
  const auto frequencies = test::value_of(make_frequencies({.head_dim = src.extents().features,
                                                            .base = 10000.0,
                                                            .pairing = Pairing::interleaved,
                                                            .xpos = Xpos{.center = 3}}));
  const Rotations rotations = test::value_of(make_rotations(
      frequencies, ConsecutivePositions{.first = first_position, .tokens = src.extents().tokens},
      {.role = role}));
  Tensor dst = src;
  test::require(rotate(dst.view(), src.view(), rotations));
  test::record_bits(dst.all_bits());
  return dst;
}

void expect_near(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(got.extents(), wanted.extents());
  test::for_each_element(got.extents(), [&](const HeadIndex& index, std::int64_t f) {
    ASSERT_NEAR(got.at(index, f), wanted.at(index, f), tolerance)
        << "token " << index.token << " head " << index.head << " feature " << f;
  });
}

TEST(XposGolden, QueriesAndKeysAgree) {
  const auto file = test::read_golden("xpos_torchscale");
  expect_near(rotated(tensor_of(file, "q"), Role::query, 0), tensor_of(file, "q_out"));
  expect_near(rotated(tensor_of(file, "k"), Role::key, 0), tensor_of(file, "k_out"));
}

TEST(XposGolden, ADecodeStepAgrees) {
  const auto file = test::read_golden("xpos_torchscale");
  const Tensor q = tensor_of(file, "q");
  const Tensor wanted = tensor_of(file, "q_step_offset5");
  Tensor last({.extents = wanted.extents(), .layout = test::Layout::bhtd});
  test::for_each_element(wanted.extents(), [&](const HeadIndex& index, std::int64_t f) {
    last.set_bits(index, f, q.bits_at({.token = 5, .head = index.head}, f));
  });
  expect_near(rotated(last, Role::query, 5), wanted);
}

}  // namespace
}  // namespace rotary
