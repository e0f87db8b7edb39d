// SPDX-License-Identifier: Apache-2.0
// Learned position tables: errors, and sums that round once. The fuzz target `absolute` covers
// lookups and gradients with any dtype and strides.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "rotary/absolute.hpp"
#include "support/cases.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"
#include "support/tokens.hpp"

namespace rotary {
namespace {

using test::refused;
using test::table_of;
using test::Tensor;
using test::tokens_of;

Tensor random_table(DType dtype, std::int64_t rows, std::int64_t features, std::uint64_t seed) {
  const auto shape = test::tokens_shape(dtype, {.tokens = rows, .features = features});
  return test::random_tensor(shape, seed);
}

struct AddLearnedCall {
  Tensor x = test::random_tensor(test::tokens_shape(DType::f32, {.tokens = 3, .features = 4}), 1);
  Tensor numbers = random_table(DType::f32, 5, 4, 2);
  TokensView into = tokens_of(x);
  ConstTableView table = table_of(numbers);
  TableRows rows{.indices = ConsecutivePositions{0, 3}};

  [[nodiscard]] auto written() const { return x.bytes(); }
  [[nodiscard]] Status run() const { return add_learned(into, into, {table, rows}); }
};

using LearnedPositionsErrors = test::Refusals<AddLearnedCall>;

TEST_F(LearnedPositionsErrors, NameTheFirstRowThatTheTableLacks) {
  accept(c);
  refuse(c.rows.offset = 3, {"0 <= row < 5", "index 2 and offset 3", "token 2"});
  refuse(c.rows.indices = ConsecutivePositions{-1, 3},
         {"index -1 and offset 0 for batch 0, token 0"});
  const std::vector<std::int64_t> far = {0, std::numeric_limits<std::int64_t>::max(), 99};
  c.rows.offset = 1;
  refuse(c.rows.indices = positions_of(far), {"index 9223372036854775807 and offset 1", "token 1"});
  const std::vector<double> fractions = {0, 1, 2};
  refuse(c.rows.indices = positions_of(fractions), {"int32, int64 or consecutive, got double"});
  refuse(c.rows.indices = ConsecutivePositions{0, 2}, {"as many as the tokens, 3; got 2"});
}

TEST_F(LearnedPositionsErrors, TablesAndViewsThatDoNotFitAreRefused) {
  refuse(c.table.features = 3, {"table must have the features of dst, 4; got 3"});
  refuse(c.table.dtype = DType::bf16, {"same dtype, got bf16 and f32"});
  refuse(c.table.dtype = {}, {"table: dtype must be f32, bf16, f16 or f64"});
  refuse(c.table.rows = -1, {"rows and features must be >= 0, got -1"});
  refuse(c.table.row_stride = std::numeric_limits<std::int64_t>::max() / 2,
         {"must span less than 2^62 bytes"});
  refuse(c.table.data = nullptr, {"table: data must not be null"});
  refuse(c.table.data = static_cast<const std::byte*>(c.table.data) + 2,
         {"aligned to its element size, 4 bytes; got", "2 bytes"});
  refuse(c.table = table_of(c.x), {"dst and table must share no element"});
  refuse(c.into.strides.token = 0, {"elements of a destination must be distinct"});
  // The indices overlap dst. They are 0, a valid row, so only the overlap is wrong.
  c.x = Tensor(test::tokens_shape(DType::f32, {.tokens = 3, .features = 4}));
  c.into = tokens_of(c.x);
  const auto* const within = static_cast<const std::int32_t*>(c.into.data);
  refuse(c.rows.indices = TokenArray<std::int32_t>{.data = within, .tokens = 3, .token_stride = 4},
         {"dst and positions must share no element"});
}

// The counts are larger than any memory. The calls return at once, because tokens have no element
// and consecutive or repeated indices are not read one by one.
TEST(LearnedPositions, ReturnAtOnceForTokensWithoutFeatures) {
  constexpr std::int64_t many = std::int64_t{1} << 62;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const ConstTableView table{.data = nullptr, .dtype = DType::f32, .rows = many, .features = 0};
  TokensView view{.data = nullptr, .dtype = DType::f32, .extents = {.batch = most, .tokens = many}};
  const std::int32_t one = 1;
  const TokenArray<std::int32_t> repeated{.data = &one, .tokens = many, .token_stride = 0};
  const TableRows consecutive{.indices = ConsecutivePositions{0, many}};
  EXPECT_TRUE(sum_embeddings(view, {}).ok());
  EXPECT_TRUE(add_learned(view, view, {table, consecutive}).ok());
  EXPECT_TRUE(add_learned(view, view, {table, {repeated}}).ok());
  const TableView gradient{.data = nullptr, .dtype = DType::f32, .rows = many, .features = 0};
  EXPECT_TRUE(add_table_gradient(gradient, consecutive, view).ok());
  refused(add_learned(view, view, {table, {.indices = consecutive.indices, .offset = 7}}),
          {"got index 4611686018427387897 and offset 7 for batch 0, token 46"});
  refused(add_learned(view, view, {table, {.indices = repeated, .offset = -2}}),
          {"got index 1 and offset -2 for batch 0, token 0"});
  view.extents = {.batch = most, .tokens = 0, .features = 0};
  EXPECT_TRUE(add_learned(view, view, {table, {ConsecutivePositions{most, 0}}}).ok());
}

// Sums that would become ties if rounded to float32 first, and sums that overflow or are subnormal.
TEST(SumEmbeddings, RoundsToNearestEvenOnce) {
  struct Sum {
    DType dtype;
    std::array<double, 3> parts;
    double wanted;
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::array sums = {Sum{DType::bf16, {1, 0x1p-8, 0}, 1},
                           Sum{DType::bf16, {1, 0x1p-8, 0x1p-40}, 1 + 0x1p-7},
                           Sum{DType::bf16, {-1, -0x1p-8, -0x1p-40}, -1 - 0x1p-7},
                           Sum{DType::bf16, {1 + 0x1p-7, 0x1p-8, -0x1p-40}, 1 + 0x1p-7},
                           Sum{DType::bf16, {0x1.fep127, 0x1p119, 0}, inf},
                           Sum{DType::bf16, {0x1p-133, 0x1p-133, 0}, 0x1p-132},
                           Sum{DType::f16, {1, 0x1p-11, 0}, 1},
                           Sum{DType::f16, {1, 0x1p-11, 0x1p-24}, 1 + 0x1p-10},
                           Sum{DType::f16, {-1, -0x1p-11, -0x1p-24}, -1 - 0x1p-10},
                           Sum{DType::f16, {65504, 15, 0}, 65504},
                           Sum{DType::f16, {-65504, -16, 0}, -inf},
                           Sum{DType::f16, {0x1p-14, -0x1p-24, 0}, 0x1p-14 - 0x1p-24},
                           Sum{DType::f32, {1, 0x1p-24, 0}, 1},
                           Sum{DType::f32, {1, 0x1p-24, 0x1p-50}, 1 + 0x1p-23},
                           Sum{DType::f32, {0x1.fffffep127, 0x1p103, 0}, inf}};
  for (const auto& [dtype, parts, wanted] : sums) {
    Tensor tables(test::tokens_shape(dtype, {.tokens = 3, .features = 1}));
    std::vector<Lookup> lookups;
    for (std::int64_t row = 0; row < 3; ++row) {
      tables.set({.token = row}, 0, parts[static_cast<std::size_t>(row)]);
      lookups.push_back({table_of(tables), {ConsecutivePositions{row, 1}}});
    }
    Tensor dst(test::tokens_shape(dtype, {.tokens = 1, .features = 1}));
    test::require(sum_embeddings(tokens_of(dst), lookups));
    EXPECT_EQ(dst.at({}, 0), wanted) << to_string(dtype) << " " << parts[0] << " + " << parts[1];
    tables.set({.token = 1}, 0, std::numeric_limits<double>::quiet_NaN());
    test::require(sum_embeddings(tokens_of(dst), lookups));
    EXPECT_TRUE(std::isnan(dst.at({}, 0)));
  }
}

TEST(SumEmbeddings, NamesTheWrongLookupAndWritesNothing) {
  Tensor table = random_table(DType::f32, 4, 8, 1);
  const std::vector<std::int64_t> ids = {0, 4, 1};
  const std::array lookups = {Lookup{table_of(table), {ConsecutivePositions{0, 3}}},
                              Lookup{table_of(table), {positions_of(ids)}}};
  Tensor dst(test::tokens_shape(DType::f32, {.tokens = 3, .features = 8}));
  const auto before = dst.bytes();
  refused(sum_embeddings(tokens_of(dst), lookups),
          {"lookups[1]: ", "0 <= row < 4", "index 4", "token 1"});
  EXPECT_EQ(dst.bytes(), before);
}

struct GradientCall {
  Tensor gradients = random_table(DType::f64, 5, 4, 2);
  Tensor source =
      test::random_tensor(test::tokens_shape(DType::f64, {.tokens = 3, .features = 4}), 1);
  TableView into = table_of(gradients);
  TableRows rows{.indices = ConsecutivePositions{0, 3}};
  TokensView upstream = tokens_of(source);

  [[nodiscard]] auto written() const { return std::pair(gradients.bytes(), source.bytes()); }
  [[nodiscard]] Status run() const { return add_table_gradient(into, rows, upstream); }
};

using TableGradientErrors = test::Refusals<GradientCall>;

TEST_F(TableGradientErrors, ViewsThatDoNotFitAreRefused) {
  accept(c);
  refuse(c.into.dtype = DType::f32, {"gradient must be f64", "got f32 for f64"});
  refuse(c.into.dtype = DType::bf16, {"got bf16 for f64"});
  refuse(c.rows.indices = ConsecutivePositions{3, 3}, {"index 5 and offset 0"});
  refuse(c.into.features = 3, {"features of upstream, 4; got 3"});
  refuse(c.into.data = c.upstream.data, {"gradient and upstream must share no element"});
  refuse(c.upstream = TokensView({c.upstream.data, DType::f64, {1, std::int64_t{1} << 34, 4}}),
         {"upstream: elements that a stride of 0 repeats", "2^36", "17179869184"});
}

TEST(PositionsFromMask, RefusesInvalidMasksWithoutWriting) {
  const std::vector<std::uint8_t> mask = {1, 1, 2, 0};
  std::vector<std::int64_t> positions(4, 77);
  refused(positions_from_mask(positions, mask, 2), {"mask must be 0 or 1, got 2 for element 2"});
  refused(positions_from_mask(positions, mask, 3), {"got 4 elements for batch 3"});
  refused(positions_from_mask(positions, mask, 0), {"for batch 0"});
  refused(positions_from_mask(positions, std::span(mask).first(3), 1), {"same size, got 4 and 3"});
  EXPECT_EQ(positions, std::vector<std::int64_t>(4, 77));
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(positions.data()), 32);
  refused(positions_from_mask(positions, bytes.last(4), 1),
          {"positions and mask must share no byte"});
  EXPECT_EQ(positions, std::vector<std::int64_t>(4, 77));
}

}  // namespace
}  // namespace rotary
