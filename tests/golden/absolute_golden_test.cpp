// SPDX-License-Identifier: Apache-2.0
// Compares absolute encodings with Transformers and torch (absolute_encodings.json).
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/absolute.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"
#include "support/tokens.hpp"

namespace rotary {
namespace {

using test::table_of;
using test::Tensor;
using test::tokens_of;

// Reads {"shape", "dtype", "data"} as [rows, features].
Tensor rows_of(const nlohmann::json& tensor) {
  Tensor rows(test::tokens_shape(
      DType::f32, {.tokens = tensor.at("shape").at(0), .features = tensor.at("shape").at(1)}));
  std::size_t i = 0;
  test::for_each_element(rows.extents(), [&](const test::HeadIndex& at, std::int64_t f) {
    rows.set(at, f, tensor.at("data").at(i++).get<double>());
  });
  return rows;
}

SinusoidalSpec spec_of(const std::string& model, std::int64_t dim) {
  if (model == "distilbert") return transformer_sinusoidal(dim);
  if (model == "whisper" || model == "pegasus_x") return whisper_sinusoidal(dim);
  if (model == "musicgen") return musicgen_sinusoidal(dim);
  if (model == "m2m_100") return fairseq_sinusoidal(dim, 1);
  return marian_sinusoidal(dim);
}

// NumPy's tables in double have our bits, except near ties of the last rounding. torch rounds the
// frequency, the position and their product to float32. Each rounding moves the angle by at most
// 2^-24 of itself. torch's sin and cos are off by about 2^-23.
TEST(AbsoluteGolden, SinusoidalTablesAgree) {
  const auto file = test::read_golden("absolute_encodings");
  std::int64_t same = 0;
  std::int64_t of_double = 0;
  for (const auto& each : file.at("sinusoidal")) {
    const std::string model = each.at("model");
    SCOPED_TRACE(model + " " + each.at("dim").dump());
    const Tensor wanted = rows_of(each.at("rows"));
    const SinusoidalSpec spec = spec_of(model, each.at("dim"));
    const auto sinusoidal = test::value_of(make_sinusoidal(spec));
    auto positions = each.at("positions").get<std::vector<std::int64_t>>();
    // The file lists rows of the class's table. Token p has row p + position_offset.
    for (std::int64_t& position : positions) position -= spec.position_offset;
    Tensor got(test::tokens_shape(
        DType::f32, {.tokens = wanted.extents().tokens, .features = wanted.extents().features}));
    test::require(fill_sinusoidal(tokens_of(got), sinusoidal, positions_of(positions)));
    test::record_bits(got.all_bits());
    const bool is_double = each.at("arithmetic") == "double";
    test::for_each_element(got.extents(), [&](const test::HeadIndex& at, std::int64_t f) {
      const auto row = each.at("positions").at(static_cast<std::size_t>(at.token)).get<double>();
      const double bound = is_double ? 0x1p-24 : 4 * 0x1p-24 * row + 0x1p-21;
      ASSERT_NEAR(got.at(at, f), wanted.at(at, f), bound) << "row " << row << " feature " << f;
      if (!is_double) return;
      ++of_double;
      if (got.bits_at(at, f) == wanted.bits_at(at, f)) ++same;
    });
  }
  EXPECT_GT(of_double, 200);
  EXPECT_GE(static_cast<double>(same), 0.99 * static_cast<double>(of_double));
}

TEST(AbsoluteGolden, PositionsOfPaddedBatchesAgree) {
  const auto file = test::read_golden("absolute_encodings");
  for (const auto& each : file.at("position_ids")) {
    const auto mask = test::flat<std::uint8_t>(each.at("mask"));
    const auto wanted = test::flat<std::int64_t>(each.at("ids"));
    std::vector<std::int64_t> positions(mask.size());
    test::require(positions_from_mask(positions, mask, 3));
    for (std::int64_t& position : positions) position += each.at("offset").get<std::int64_t>();
    EXPECT_EQ(positions, wanted) << each.at("model");
  }
}

// torch adds three numbers below 4 in float32.
TEST(AbsoluteGolden, BertsSumAgrees) {
  const auto file = test::read_golden("absolute_encodings");
  for (const auto& each : file.at("sums")) {
    Tensor words = rows_of(each.at("word_embeddings"));
    Tensor kinds = rows_of(each.at("token_type_embeddings"));
    Tensor places = rows_of(each.at("position_embeddings"));
    const Tensor wanted = rows_of(each.at("result"));
    const auto ids = test::flat<std::int64_t>(each.at("ids"));
    const auto segments = test::flat<std::int64_t>(each.at("segments"));
    const std::array lookups = {Lookup{table_of(words), {positions_of(ids, 2)}},
                                Lookup{table_of(kinds), {positions_of(segments, 2)}},
                                Lookup{table_of(places), {ConsecutivePositions{0, 4}}}};
    Tensor got(test::tokens_shape(DType::f32, {.batch = 2, .tokens = 4, .features = 3}));
    test::require(sum_embeddings(tokens_of(got), lookups));
    test::record_bits(got.all_bits());
    test::for_each_element(got.extents(), [&](const test::HeadIndex& at, std::int64_t f) {
      const double exact = wanted.at({.token = 4 * at.batch + at.token}, f);
      ASSERT_NEAR(got.at(at, f), exact, 2 * 8 * 0x1p-24) << at.batch << ", " << at.token;
    });
  }
}

// torch's float32 weights are off by 2^-20. A result sums 16 numbers below 4, or 2 for a length.
void expect_interpolated(const nlohmann::json& each, const TableInterpolation& interpolation) {
  Tensor src = rows_of(each.at("table"));
  const Tensor wanted = rows_of(each.at("result"));
  Tensor got(test::tokens_shape(
      DType::f32, {.tokens = wanted.extents().tokens, .features = wanted.extents().features}));
  test::require(interpolate_table(table_of(got), table_of(src), interpolation));
  test::record_bits(got.all_bits());
  test::for_each_element(got.extents(), [&](const test::HeadIndex& at, std::int64_t f) {
    ASSERT_NEAR(got.at(at, f), wanted.at(at, f), 16 * 4 * 0x1p-20) << "row " << at.token;
  });
}

TableGrid grid_of(const nlohmann::json& sides) {
  return {.rows = sides.at(0), .columns = sides.at(1)};
}

TEST(AbsoluteGolden, TablesInterpolatedToAGridAgree) {
  const auto file = test::read_golden("absolute_encodings");
  for (const auto& each : file.at("grids")) {
    SCOPED_TRACE(each.at("to").dump());
    expect_interpolated(each, BicubicInterpolation{.kept_rows = each.at("kept_rows"),
                                                   .from = grid_of(each.at("from")),
                                                   .to = grid_of(each.at("to")),
                                                   .size_offset = each.value("size_offset", 0.0)});
  }
}

TEST(AbsoluteGolden, TablesInterpolatedToALengthAgree) {
  const auto file = test::read_golden("absolute_encodings");
  for (const auto& each : file.at("lengths")) expect_interpolated(each, LinearInterpolation{});
}

}  // namespace
}  // namespace rotary
