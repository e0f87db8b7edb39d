// SPDX-License-Identifier: Apache-2.0
// Shared setup for tests of the errors of attend().
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <vector>

#include "rotary/attention.hpp"
#include "support/cases.hpp"
#include "support/error_matchers.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary::test {

inline constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t lowest = -highest - 1;
inline constexpr std::int64_t huge = std::int64_t{1} << 40;
inline constexpr Extents q_extents{.batch = 2, .tokens = 3, .heads = 4, .features = 6};
inline constexpr Extents k_extents{.batch = 2, .tokens = 5, .heads = 2, .features = 6};
inline constexpr Extents v_extents{.batch = 2, .tokens = 5, .heads = 2, .features = 7};
inline constexpr Extents out_extents{.batch = 2, .tokens = 3, .heads = 4, .features = 7};
inline constexpr ScoresExtents sums_extents{.batch = 2, .heads = 4, .queries = 3, .keys = 1};

inline Rotations rotations_for(std::int64_t head_dim, std::int64_t tokens,
                               Pairing pairing = Pairing::half) {
  const HeadWindow window{.head_dim = head_dim, .rotary_dim = 4, .pairing = pairing};
  return rotations_of(frequencies_of(window), ConsecutivePositions{0, tokens});
}

// A call that attend() accepts until one thing about it is changed.
class AttendErrors : public testing::Test {
 protected:
  void expect_refused(std::initializer_list<std::string_view> parts,
                      ErrorCode code = ErrorCode::invalid_argument) {
    expect(attend(out, q, k, v, options), code, parts);
    // attend_bytes() does not see outputs; if it fails, it gives the same error.
    const auto bytes = attend_bytes(q, k, v, options);
    if (!bytes) {
      EXPECT_TRUE(says(bytes.error(), code, parts));
    }
  }
  void expect_paged_refused(std::initializer_list<std::string_view> parts) {
    expect(attend(out, q, pages, options), ErrorCode::invalid_argument, parts);
  }

 private:
  void expect(const Status& status, ErrorCode code, std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(fails(status, code, parts));
    EXPECT_EQ(out_.bytes(), out_before_) << "out has been written";
    EXPECT_EQ(sums, sums_before_) << "log_sum_exp has been written";
  }

  Tensor q_ = random_tensor({.extents = q_extents}, 1);
  Tensor k_ = random_tensor({.extents = k_extents}, 2);
  Tensor v_ = random_tensor({.extents = v_extents}, 3);
  Tensor out_ = random_tensor({.extents = out_extents}, 4);

 protected:
  std::vector<float> sums = std::vector<float>(24, 5.0F);
  HeadsView q = q_.view();
  HeadsView k = k_.view();
  HeadsView v = v_.view();
  HeadsView out = out_.view();
  AttendOptions options{
      .scale = 0.4,
      .mask = {.order = AttentionOrder::causal},
      .log_sum_exp = ScoresView{sums.data(), DType::f32, sums_extents, strides_bhqk(sums_extents)}};
  std::vector<AttentionSequence> sequences = {{0, 0, 3, 0, 4, 1, 0}, {1, 0, 2, 0, 5, 3, 0}};
  // Two blocks of 5 slots: k and v themselves.
  std::vector<std::int32_t> blocks = {1, 0};
  PagedKeys pages{.k = k, .v = v, .table = {blocks.data(), 2, 1, 1}};

 private:
  std::vector<std::byte> out_before_ = out_.bytes();
  std::vector<float> sums_before_ = sums;
};

}  // namespace rotary::test
