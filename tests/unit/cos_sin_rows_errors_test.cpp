// SPDX-License-Identifier: Apache-2.0
// make_rotations refuses invalid rows of cos and sin, and writes nothing when it does.
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
#include "support/error_matchers.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr HeadWindow window{
    .head_dim = 8, .rotary_dim = 6, .first_feature = 1, .pairing = Pairing::half};

// [batch 2][tokens 4][pairs 3] of one value each; cos² + sin² = 1.
struct Source {
  std::vector<double> cos = std::vector<double>(24, 0.6);
  std::vector<double> sin = std::vector<double>(24, -0.8);

  [[nodiscard]] CosSinView view() const {
    return {.cos = cos.data(),
            .sin = sin.data(),
            .dtype = DType::f64,
            .batch = 2,
            .tokens = 4,
            .batch_stride = 12,
            .token_stride = 3};
  }
};

// Refused, with own memory and with the caller's, which stays as it was.
void expect_refused(const CosSinView& view, std::initializer_list<std::string_view> parts) {
  EXPECT_TRUE(test::fails(test::called::rows(window, view), ErrorCode::invalid_argument, parts));
  alignas(double) std::byte memory[4096] = {};
  EXPECT_TRUE(test::fails(make_rotations(window, view, {.memory = memory}),
                          ErrorCode::invalid_argument, parts));
  EXPECT_TRUE(std::ranges::all_of(memory, [](std::byte byte) { return byte == std::byte{}; }));
}

TEST(CosSinRowsErrors, NoneInTheSourceItself) {
  EXPECT_TRUE(make_rotations(window, Source().view()));
}

// Any finite numbers, by a call that says so; what undoes a rotation does not undo these.
TEST(CosSinRowsErrorsOfTheCpuAlone, RowsThatAreNoRotationsAreAskedForByName) {
  Source source;
  source.cos[5] = 7;
  source.sin[6] = 0;
  expect_refused(source.view(), {"cos^2 + sin^2 must be attention_factor^2", "token 1, pair 2"});
  auto rows = test::value_of(make_unchecked_rotations(window, source.view()));
  EXPECT_TRUE(rows.unchecked());
  EXPECT_EQ(rows.cos(0, 1)[2], 7);
  test::Tensor heads({.extents = {.batch = 2, .tokens = 4, .heads = 1, .features = 8}});
  heads.set({.batch = 0, .token = 1, .head = 0}, 3, 2);
  EXPECT_TRUE(rotate(heads.view(), heads.view(), rows));
  EXPECT_EQ(heads.at({.batch = 0, .token = 1, .head = 0}, 3), 14);
  EXPECT_TRUE(rotate(heads.view(), heads.view(), rows, {.direction = Direction::transpose}));
  EXPECT_TRUE(test::fails(
      rotate(heads.view(), heads.view(), rows, {.direction = Direction::inverse}),
      ErrorCode::invalid_argument, {"direction inverse must be of rotations", "unchecked rows"}));
  source.sin[23] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(test::fails(make_unchecked_rotations(window, source.view()),
                          ErrorCode::invalid_argument, {"sin must be finite, got nan", "token 3"}));
  CosSinView view = source.view();
  view.attention_factor = 1.5;
  EXPECT_TRUE(test::fails(make_unchecked_rotations(window, view), ErrorCode::invalid_argument,
                          {"attention_factor must be 1 for unchecked rows, got 1.5"}));
}

TEST(CosSinRowsErrors, BrokenWindow) {
  const Source source;
  HeadWindow broken = window;
  broken.rotary_dim = 5;
  EXPECT_TRUE(test::fails(make_rotations(broken, source.view()), ErrorCode::invalid_argument,
                          {"rotary_dim must be even", "got 5"}));
}

TEST(CosSinRowsErrors, DTypes) {
  const Source source;
  CosSinView view = source.view();
  view.dtype = static_cast<DType>(9);
  expect_refused(view, {"dtype must be f32, bf16, f16 or f64", "got value 9"});
  EXPECT_TRUE(test::fails(make_rotations(window, source.view(), {.rows = static_cast<RowDType>(2)}),
                          ErrorCode::invalid_argument, {"rows must be f32 or f64", "got value 2"}));
}

TEST(CosSinRowsErrors, Counts) {
  const Source source;
  CosSinView view = source.view();
  view.batch = 0;
  expect_refused(view, {"batch must be at least 1", "got 0"});
  view = source.view();
  view.tokens = -1;
  expect_refused(view, {"tokens must be at least 0", "got -1"});
  view.tokens = highest;
  view.token_stride = 0;
  expect_refused(view, {"fit in memory", "batch 2"});
}

TEST(CosSinRowsErrors, AttentionFactor) {
  const Source source;
  for (const double bad : {0.0, -1.0, 0x1p21, std::numeric_limits<double>::quiet_NaN()}) {
    CosSinView view = source.view();
    view.attention_factor = bad;
    expect_refused(view, {"attention_factor must be", "got"});
  }
}

TEST(CosSinRowsErrors, Pointers) {
  const Source source;
  CosSinView view = source.view();
  view.cos = nullptr;
  expect_refused(view, {"cos must not be null"});
  view = source.view();
  view.sin = nullptr;
  expect_refused(view, {"sin must not be null"});
  view = source.view();
  view.sin = reinterpret_cast<const std::byte*>(source.sin.data()) + 2;
  expect_refused(view, {"sin must be aligned", "bytes; got an address 2 bytes off"});
  view.tokens = 0;
  view.cos = nullptr;
  EXPECT_TRUE(make_rotations(window, view));
}

TEST(CosSinRowsErrors, StridesBeyondMemory) {
  const Source source;
  for (const std::int64_t stride : {lowest, highest, lowest / 8, std::int64_t{1} << 60}) {
    CosSinView view = source.view();
    view.batch_stride = stride;
    expect_refused(view, {"cos must span less than 2^62 bytes", std::to_string(stride)});
    view = source.view();
    view.token_stride = stride;
    expect_refused(view, {"cos must span less than 2^62 bytes"});
    view = source.view();
    view.pair_stride = stride;
    expect_refused(view, {"cos must span less than 2^62 bytes"});
  }
  // The stride of a single index does not matter.
  CosSinView one = source.view();
  one.batch = 1;
  one.tokens = 1;
  one.batch_stride = lowest;
  one.token_stride = lowest;
  EXPECT_TRUE(make_rotations(window, one));
  const HeadWindow one_pair{
      .head_dim = 8, .rotary_dim = 2, .first_feature = 1, .pairing = Pairing::half};
  one.pair_stride = lowest;
  EXPECT_TRUE(make_rotations(one_pair, one));
}

TEST(CosSinRowsErrorsOfTheCpuAlone, ElementsThatAreNotFinite) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    Source source;
    source.cos[12 + 2 * 3 + 1] = bad;
    expect_refused(source.view(), {"cos must be finite", "got ", "batch 1, token 2, pair 1"});
    source = Source();
    source.sin[23] = bad;
    expect_refused(source.view(), {"sin must be finite", "batch 1, token 3, pair 2"});
  }
}

// Half precision has Inf and NaN of its own.
TEST(CosSinRowsErrorsOfTheCpuAlone, HalvesThatAreNotFinite) {
  const std::vector<std::uint16_t> sin(3, 0);
  for (const auto& [dtype, one, bad] : {std::tuple{DType::f16, 0x3C00, 0x7C00},
                                        {DType::f16, 0x3C00, 0xFC00},
                                        {DType::f16, 0x3C00, 0x7E01},
                                        {DType::bf16, 0x3F80, 0x7F80},
                                        {DType::bf16, 0x3F80, 0xFFC1}}) {
    std::vector<std::uint16_t> cos(3, static_cast<std::uint16_t>(one));
    const CosSinView view{.cos = cos.data(), .sin = sin.data(), .dtype = dtype, .tokens = 1};
    EXPECT_TRUE(make_rotations(window, view));
    cos[2] = static_cast<std::uint16_t>(bad);
    expect_refused(view, {"cos must be finite", "batch 0, token 0, pair 2"});
  }
}

TEST(CosSinRowsErrorsOfTheCpuAlone, PairsThatAreNoRotation) {
  Source source;
  source.sin[5] = 0.8 * 1.02;  // cos² + sin² = 1.0259
  expect_refused(source.view(), {"cos^2 + sin^2 must be attention_factor^2, 1, within 2 %", "got",
                                 "cos 0.6", "batch 0, token 1, pair 2"});
  source.sin[5] = 0.8 * 1.01;  // 1.0129
  EXPECT_TRUE(make_rotations(window, source.view()));
  source.sin[5] = 0.8 * 0.98;  // 0.9747
  expect_refused(source.view(), {"pair 2"});
  source.cos[5] = 0;
  source.sin[5] = 0;
  expect_refused(source.view(), {"got 0 from cos 0"});
  source.sin[5] = 1e300;  // its square is infinite, itself it is not
  expect_refused(source.view(), {"cos^2 + sin^2", "got inf from cos 0 and sin 1e+300"});
}

// Angles in place of their cos, and cos and sin of different pairs.
TEST(CosSinRowsErrorsOfTheCpuAlone, FrequentMistakes) {
  Source source;
  for (std::size_t i = 0; i < 24; ++i) source.cos[i] = 0.1 * static_cast<double>(i);
  expect_refused(source.view(), {"cos^2 + sin^2", "token 0, pair 0"});
}

TEST(CosSinRowsErrorsOfTheCpuAlone, AForgottenFactorIsNamed) {
  Source source;
  for (std::size_t i = 0; i < 24; ++i) {
    source.cos[i] *= 1.25;
    source.sin[i] *= 1.25;
  }
  expect_refused(source.view(), {"cos^2 + sin^2 must be attention_factor^2, 1, within 2 %",
                                 "batch 0, token 0, pair 0", "attention_factor 1.25 fits every"});
  CosSinView view = source.view();
  view.attention_factor = 1.25;
  EXPECT_TRUE(make_rotations(window, view));
  source.cos[20] = 9;
  const auto refused = make_rotations(window, view);
  ASSERT_TRUE(test::fails(refused, ErrorCode::invalid_argument, {"batch 1, token 2, pair 2"}));
  EXPECT_EQ(refused.error().message.find("fits"), std::string::npos);
}

// Memory may be the rest of the source's buffer, not the source.
TEST(CosSinRowsErrors, MemoryOnTheSource) {
  const std::size_t needed = test::value_of(row_bytes(window, 2, 4, RowDType::f64)) / 8;
  std::vector<double> buffer(48 + needed + 48, 0.6);
  std::fill(buffer.begin() + 24, buffer.begin() + 48, 0.8);
  std::fill(buffer.end() - 24, buffer.end(), 0.8);
  const auto memory_from = [&](std::size_t first) {
    return std::as_writable_bytes(std::span(buffer).subspan(first, needed));
  };
  CosSinView view = Source().view();
  view.cos = buffer.data();
  view.sin = buffer.data() + 24;
  const std::vector<double> before = buffer;
  for (const std::size_t first : {0U, 23U, 24U, 47U}) {
    EXPECT_TRUE(test::fails(
        make_rotations(window, view, {.rows = RowDType::f64, .memory = memory_from(first)}),
        ErrorCode::invalid_argument, {"memory must share no element with"}));
    EXPECT_EQ(buffer, before);
  }
  EXPECT_TRUE(make_rotations(window, view, {.rows = RowDType::f64, .memory = memory_from(48)}));
  EXPECT_TRUE(std::equal(buffer.begin(), buffer.begin() + 48, before.begin()));
}

// The defaults: every token, or batch row, would silently be rotated as the first one.
TEST(CosSinRowsErrors, ForgottenStrides) {
  const Source source;
  CosSinView view = source.view();
  view.token_stride = 0;
  expect_refused(view, {"token_stride must not be 0"});
  view = source.view();
  view.batch_stride = 0;
  expect_refused(view, {"batch_stride must not be 0", "batch of 1 serves"});
  view = source.view();
  view.pair_stride = 0;
  expect_refused(view, {"pair_stride must not be 0"});
}

}  // namespace
}  // namespace rotary
