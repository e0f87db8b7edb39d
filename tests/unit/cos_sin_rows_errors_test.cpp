// SPDX-License-Identifier: Apache-2.0
// make_rotations refuses invalid rows of cos and sin without writing anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "support/called.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

using test::refused;

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr HeadWindow window{
    .head_dim = 8, .rotary_dim = 6, .first_feature = 1, .pairing = Pairing::half};

// [batch 2][tokens 4][pairs 3]. Every cos is 0.6 and every sin -0.8, so cos² + sin² = 1.
struct RowsCall {
  std::vector<double> cos = std::vector<double>(24, 0.6);
  std::vector<double> sin = std::vector<double>(24, -0.8);
  CosSinView view{.cos = cos.data(),
                  .sin = sin.data(),
                  .dtype = DType::f64,
                  .batch = 2,
                  .tokens = 4,
                  .batch_stride = 12,
                  .token_stride = 3};

  [[nodiscard]] Status run() const { return test::called::rows(window, view); }
};

// Expects a refusal without and with memory from the caller. The memory must not change.
class CosSinRowsErrors : public test::Refusals<RowsCall> {
 protected:
  template <class Change>
  void refuse(const Change& change, test::Parts parts) {
    alignas(double) std::byte memory[4096] = {};
    test::refused(make_rotations(window, c.view, {.memory = memory}), parts);
    EXPECT_TRUE(std::ranges::all_of(memory, [](std::byte byte) { return byte == std::byte{}; }));
    Refusals::refuse(change, parts);
  }
};

using CosSinRowsErrorsOfTheCpuAlone = CosSinRowsErrors;

TEST_F(CosSinRowsErrors, AValidSourceIsAccepted) { EXPECT_TRUE(make_rotations(window, c.view)); }

// make_unchecked_rotations() accepts any finite numbers. Direction::inverse is refused, because it
// would not undo rows with pairs of arbitrary length.
TEST_F(CosSinRowsErrorsOfTheCpuAlone, UncheckedRowsMayBeAnyFiniteNumbers) {
  const auto others = [&] {
    c.cos[5] = 7;
    c.sin[6] = 0;
  };
  others();
  refuse(c, {"cos^2 + sin^2 must be attention_factor^2", "token 1, pair 2"});
  others();
  auto rows = test::value_of(make_unchecked_rotations(window, c.view));
  EXPECT_TRUE(rows.unchecked());
  EXPECT_EQ(rows.cos(0, 1)[2], 7);
  test::Tensor heads({.extents = {.batch = 2, .tokens = 4, .heads = 1, .features = 8}});
  heads.set({.batch = 0, .token = 1, .head = 0}, 3, 2);
  EXPECT_TRUE(rotate(heads.view(), heads.view(), rows));
  EXPECT_EQ(heads.at({.batch = 0, .token = 1, .head = 0}, 3), 14);
  EXPECT_TRUE(rotate(heads.view(), heads.view(), rows, {.direction = Direction::transpose}));
  refused(rotate(heads.view(), heads.view(), rows, {.direction = Direction::inverse}),
          {"direction inverse needs checked rows", "unchecked ones"});
  c.sin[23] = std::numeric_limits<double>::quiet_NaN();
  refused(make_unchecked_rotations(window, c.view), {"sin must be finite, got nan", "token 3"});
  c.view.attention_factor = 1.5;
  refused(make_unchecked_rotations(window, c.view),
          {"attention_factor must be 1 for unchecked rows, got 1.5"});
}

TEST_F(CosSinRowsErrors, InvalidWindowsTypesAndCountsAreRefused) {
  HeadWindow broken = window;
  broken.rotary_dim = 5;
  refused(make_rotations(broken, c.view), {"rotary_dim must be even", "got 5"});
  refused(make_rotations(window, c.view, {.rows = static_cast<RowDType>(2)}),
          {"rows must be f32 or f64", "got value 2"});
  refuse(c.view.dtype = static_cast<DType>(9),
         {"dtype must be f32, bf16, f16 or f64", "got value 9"});
  refuse(c.view.batch = 0, {"batch must be at least 1", "got 0"});
  refuse(c.view.tokens = -1, {"tokens must be at least 0", "got -1"});
  c.view.token_stride = 0;
  refuse(c.view.tokens = highest, {"fit in memory", "batch 2"});
  for (const double bad : {0.0, -1.0, 0x1p21, std::numeric_limits<double>::quiet_NaN()})
    refuse(c.view.attention_factor = bad, {"attention_factor must be", "got"});
}

TEST_F(CosSinRowsErrors, NullAndMisalignedPointersAreRefused) {
  refuse(c.view.cos = nullptr, {"cos must not be null"});
  refuse(c.view.sin = nullptr, {"sin must not be null"});
  refuse(c.view.sin = reinterpret_cast<const std::byte*>(c.sin.data()) + 2,
         {"sin must be aligned", "bytes; got an address 2 bytes off"});
  c.view.sin = reinterpret_cast<const std::byte*>(c.sin.data()) + 2;
  c.view.tokens = 0;
  c.view.cos = nullptr;
  EXPECT_TRUE(make_rotations(window, c.view));
}

TEST_F(CosSinRowsErrors, StridesBeyondMemoryAreRefused) {
  for (const std::int64_t stride : {lowest, highest, lowest / 8, std::int64_t{1} << 60}) {
    refuse(c.view.batch_stride = stride,
           {"cos must span less than 2^62 bytes", std::to_string(stride)});
    refuse(c.view.token_stride = stride, {"cos must span less than 2^62 bytes"});
    refuse(c.view.pair_stride = stride, {"cos must span less than 2^62 bytes"});
  }
  // The stride of an axis with one index is never used.
  c.view.batch = c.view.tokens = 1;
  c.view.batch_stride = c.view.token_stride = lowest;
  EXPECT_TRUE(make_rotations(window, c.view));
  const HeadWindow one_pair{
      .head_dim = 8, .rotary_dim = 2, .first_feature = 1, .pairing = Pairing::half};
  c.view.pair_stride = lowest;
  EXPECT_TRUE(make_rotations(one_pair, c.view));
}

TEST_F(CosSinRowsErrorsOfTheCpuAlone, NonFiniteElementsAreRefused) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    refuse(c.cos[12 + 2 * 3 + 1] = bad, {"cos must be finite", "got ", "batch 1, token 2, pair 1"});
    refuse(c.sin[23] = bad, {"sin must be finite", "batch 1, token 3, pair 2"});
  }
}

// f16 and bf16 have their own bits for Inf and NaN.
TEST_F(CosSinRowsErrorsOfTheCpuAlone, NonFinite16BitElementsAreRefused) {
  const std::vector<std::uint16_t> sin(3, 0);
  for (const auto& [dtype, one, bad] : {std::tuple{DType::f16, 0x3C00, 0x7C00},
                                        {DType::f16, 0x3C00, 0xFC00},
                                        {DType::f16, 0x3C00, 0x7E01},
                                        {DType::bf16, 0x3F80, 0x7F80},
                                        {DType::bf16, 0x3F80, 0xFFC1}}) {
    std::vector<std::uint16_t> cos(3, static_cast<std::uint16_t>(one));
    c.view = {.cos = cos.data(), .sin = sin.data(), .dtype = dtype, .tokens = 1};
    EXPECT_TRUE(make_rotations(window, c.view));
    cos[2] = static_cast<std::uint16_t>(bad);
    refuse(c, {"cos must be finite", "batch 0, token 0, pair 2"});
  }
}

TEST_F(CosSinRowsErrorsOfTheCpuAlone, PairsOfTheWrongLengthAreRefused) {
  // cos² + sin² = 1.0259, 1.0129 and 0.9747
  refuse(c.sin[5] = 0.8 * 1.02, {"cos^2 + sin^2 must be attention_factor^2, 1, within 2 %", "got",
                                 "cos 0.6", "batch 0, token 1, pair 2"});
  c.sin[5] = 0.8 * 1.01;
  EXPECT_TRUE(make_rotations(window, c.view));
  refuse(c.sin[5] = 0.8 * 0.98, {"pair 2"});
  refuse(c.cos[5] = c.sin[5] = 0, {"got 0 from cos 0"});
  c.sin[5] = 1e300;  // finite, but its square is not
  refuse(c.cos[5] = 0, {"cos^2 + sin^2", "got inf from cos 0 and sin 1e+300"});
  // A caller may pass angles in place of their cos.
  for (std::size_t i = 0; i < 24; ++i) c.cos[i] = 0.1 * static_cast<double>(i);
  refuse(c, {"cos^2 + sin^2", "token 0, pair 0"});
}

TEST_F(CosSinRowsErrorsOfTheCpuAlone, AForgottenAttentionFactorIsNamed) {
  const auto scale = [&] {
    c.cos.assign(24, 0.6 * 1.25);
    c.sin.assign(24, -0.8 * 1.25);
  };
  scale();
  refuse(c, {"cos^2 + sin^2 must be attention_factor^2, 1, within 2 %", "batch 0, token 0, pair 0",
             "attention_factor 1.25 fits every"});
  scale();
  c.view.attention_factor = 1.25;
  EXPECT_TRUE(make_rotations(window, c.view));
  c.cos[20] = 9;
  const auto made = make_rotations(window, c.view);
  refused(made, {"batch 1, token 2, pair 2"});
  EXPECT_EQ(made.error().message.find("fits"), std::string::npos);
}

// Memory may be another part of the buffer that holds cos and sin, but must not overlap them.
TEST_F(CosSinRowsErrors, MemoryThatOverlapsTheSourceIsRefused) {
  const std::size_t needed = test::value_of(row_bytes(window, 2, 4, RowDType::f64)) / 8;
  std::vector<double> buffer(48 + needed + 48, 0.6);
  std::fill(buffer.begin() + 24, buffer.begin() + 48, 0.8);
  std::fill(buffer.end() - 24, buffer.end(), 0.8);
  const auto memory_from = [&](std::size_t first) {
    return std::as_writable_bytes(std::span(buffer).subspan(first, needed));
  };
  CosSinView view = c.view;
  view.cos = buffer.data();
  view.sin = buffer.data() + 24;
  const std::vector<double> before = buffer;
  for (const std::size_t first : {0U, 23U, 24U, 47U}) {
    refused(make_rotations(window, view, {.rows = RowDType::f64, .memory = memory_from(first)}),
            {"memory must share no element with"});
    EXPECT_EQ(buffer, before);
  }
  EXPECT_TRUE(make_rotations(window, view, {.rows = RowDType::f64, .memory = memory_from(48)}));
  EXPECT_TRUE(std::equal(buffer.begin(), buffer.begin() + 48, before.begin()));
}

// The default strides, 0, would silently rotate every token and batch row like the first.
TEST_F(CosSinRowsErrors, StridesOfZeroAreRefused) {
  refuse(c.view.token_stride = 0, {"token_stride must not be 0"});
  refuse(c.view.batch_stride = 0, {"batch_stride must not be 0", "batch of 1 serves"});
  refuse(c.view.pair_stride = 0, {"pair_stride must not be 0"});
}

}  // namespace
}  // namespace rotary
