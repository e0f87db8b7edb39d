// SPDX-License-Identifier: Apache-2.0
// Every bias against the long double reference, in every dtype and layout; rows of a decode step,
// distances, shifts; buckets and slopes.
#include "rotary/relative_bias.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "reference/relative.hpp"
#include "relative/samples.hpp"
#include "rotary/cope.hpp"
#include "rotary/shaw.hpp"
#include "support/cases.hpp"
#include "support/result.hpp"
#include "support/tensor.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Layout;
using test::Sample;
using test::Tensor;

constexpr std::int64_t int64_min = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

// Half the distance between neighbours of the dtype at this magnitude: what one rounding may add.
double half_unit(DType dtype, double magnitude) {
  struct Format {
    int digits;
    int least_exponent;
  };
  const Format format = dtype == DType::f32    ? Format{24, -126}
                        : dtype == DType::bf16 ? Format{8, -126}
                        : dtype == DType::f16  ? Format{11, -14}
                                               : Format{53, -1022};
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), format.least_exponent)
                                     : format.least_exponent;
  return std::ldexp(1.0, exponent - format.digits);
}

double largest(DType dtype) {
  if (dtype == DType::f16) return 65504;
  return dtype == DType::f64 ? std::numeric_limits<double>::max()
                             : std::numeric_limits<float>::max();
}

bool on_an_edge(const RelativeBias& bias, const BiasIndex& at) {
  const auto* t5 = std::get_if<T5Bias>(&bias);
  return t5 != nullptr && reference::t5_bucket(at.key - at.query, t5->buckets).on_edge;
}

// |element - exact| within half a unit of the dtype and the bias' own bound.
void expect_as_reference(const Tensor& got, const RelativeBias& bias, const BiasRange& range) {
  const DType dtype = got.view().dtype;
  test::for_each_element(got.extents(), [&](const HeadIndex& index, std::int64_t key) {
    const BiasIndex at{
        .head = index.head, .query = range.first_query + index.token, .key = range.first_key + key};
    if (on_an_edge(bias, at)) return;
    const reference::Bias exact = reference::relative_bias(bias, at);
    const auto error = static_cast<double>(exact.magnitude) * bias_error_bound;
    const double value = got.at(index, key);
    const auto wanted = static_cast<double>(exact.value);
    if (std::abs(wanted) > largest(dtype)) {
      ASSERT_GE(std::abs(value), largest(dtype));
      return;
    }
    ASSERT_LE(std::abs(static_cast<double>(value - exact.value)),
              half_unit(dtype, std::abs(wanted) + error) + error)
        << "head " << at.head << " query " << at.query << " key " << at.key << ": got " << value
        << ", reference " << wanted;
  });
}

TEST(RelativeBias, EveryElementIsTheReferenceInEveryDtypeAndLayout) {
  for (const Sample& sample : test::samples()) {
    SCOPED_TRACE(sample.name);
    for (const DType dtype : test::all_dtypes) {
      for (const Layout layout : test::all_layouts) {
        Tensor out(test::scores_shape(dtype, 5, 9, layout));
        const BiasRange range{.first_query = 3, .first_key = -1};
        test::require(fill_bias(test::scores_of(out.view()), sample.bias, range));
        ASSERT_NO_FATAL_FAILURE(expect_as_reference(out, sample.bias, range));
        ASSERT_TRUE(out.guards_intact());
      }
    }
  }
}

TEST(RelativeBias, FarAndNegativePositions) {
  const std::int64_t far = std::int64_t{1} << 31;
  for (const Sample& sample : test::samples()) {
    SCOPED_TRACE(sample.name);
    for (const BiasRange& range :
         {BiasRange{8190, 0}, BiasRange{131071, 131000}, BiasRange{far, -3}, BiasRange{-far, far},
          BiasRange{int64_max - 2, 1}, BiasRange{int64_min + 4, 1}, BiasRange{-70000, -70001}}) {
      SCOPED_TRACE(range.first_query);
      Tensor out(test::scores_shape(DType::f64, 2, 3));
      test::require(fill_bias(test::scores_of(out.view()), sample.bias, range));
      ASSERT_NO_FATAL_FAILURE(expect_as_reference(out, sample.bias, range));
    }
  }
}

TEST(RelativeBias, ARowOfADecodeStepHasTheBitsOfThatRowOfTheWhole) {
  constexpr std::int64_t tokens = 70;
  for (const Sample& sample : test::samples()) {
    SCOPED_TRACE(sample.name);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      Tensor whole(test::scores_shape(dtype, tokens, tokens));
      test::require(fill_bias(test::scores_of(whole.view()), sample.bias, BiasRange{}));
      for (const std::int64_t row : {std::int64_t{0}, std::int64_t{1}, tokens - 1}) {
        Tensor step(test::scores_shape(dtype, 1, tokens, Layout::padded));
        test::require(
            fill_bias(test::scores_of(step.view()), sample.bias, BiasRange{.first_query = row}));
        test::for_each_element(step.extents(), [&](const HeadIndex& index, std::int64_t key) {
          const HeadIndex in_whole{.token = row, .head = index.head};
          ASSERT_EQ(step.bits_at(index, key), whole.bits_at(in_whole, key)) << row << ' ' << key;
        });
      }
    }
  }
}

TEST(RelativeBias, PositionsOneByOneGiveTheBitsOfARange) {
  const std::vector<std::int64_t> queries = {4, 5, 6};
  const std::vector<std::int64_t> keys = {-2, -1, 0, 1};
  for (const Sample& sample : test::samples()) {
    SCOPED_TRACE(sample.name);
    Tensor by_range(test::scores_shape(DType::f32, 3, 4));
    Tensor one_by_one = by_range;
    test::require(fill_bias(test::scores_of(by_range.view()), sample.bias,
                            BiasRange{.first_query = 4, .first_key = -2}));
    test::require(fill_bias(test::scores_of(one_by_one.view()), sample.bias,
                            BiasPositions{.queries = queries, .keys = keys}));
    ASSERT_EQ(by_range.all_bits(), one_by_one.all_bits());
    const double at = test::value_of(bias_at(sample.bias, {.head = 2, .query = 6, .key = 1}));
    ASSERT_EQ(by_range.at({.token = 2, .head = 2}, 3), static_cast<float>(at));
  }
}

TEST(RelativeBias, EveryBatchRowIsTheSame) {
  Tensor out({.dtype = DType::f16,
              .extents = {.batch = 2, .tokens = 3, .heads = 3, .features = 4},
              .layout = Layout::bhtd});
  test::require(fill_bias(test::scores_of(out.view()), test::samples().front().bias,
                          BiasRange{.first_query = 1}));
  const auto bits = out.all_bits();
  const auto half = bits.begin() + static_cast<std::ptrdiff_t>(bits.size() / 2);
  EXPECT_TRUE(std::equal(bits.begin(), half, half));
  EXPECT_NE(bits.front(), 0U);
}

TEST(RelativeBias, DistancesAreWhatTheWholeHasOnItsDiagonals) {
  constexpr std::int64_t tokens = 21;
  for (const Sample& sample : test::samples()) {
    SCOPED_TRACE(sample.name);
    Tensor row(test::scores_shape(DType::f32, 1, 2 * tokens - 1));
    const Status status = fill_distances(test::scores_of(row.view()), sample.bias, 1 - tokens);
    ASSERT_EQ(status.ok(), depends_on_distance_alone(sample.bias));
    if (!status) continue;
    Tensor whole(test::scores_shape(DType::f32, tokens, tokens));
    test::require(fill_bias(test::scores_of(whole.view()), sample.bias,
                            BiasRange{.first_query = 100, .first_key = 100}));
    test::for_each_element(whole.extents(), [&](const HeadIndex& index, std::int64_t key) {
      const std::int64_t column = key - index.token + tokens - 1;
      ASSERT_EQ(whole.bits_at(index, key), row.bits_at({.head = index.head}, column));
    });
  }
}

struct Rounding {
  double value;
  std::uint64_t bf16;
  std::uint64_t f16;
};

// From double at once: by way of float32 the first two would fall on ties and then to even.
TEST(RelativeBias, IsRoundedOnce) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Rounding> cases = {
      {1 + 0x1p-8 + 0x1p-40, 0x3F81, 0x3C04},
      {1 + 0x1p-11 + 0x1p-40, 0x3F80, 0x3C01},
      {1 + 0x1p-8, 0x3F80, 0x3C04},            // a tie, to even
      {-1 - 0x1p-7 - 0x1p-8, 0xBF82, 0xBC0C},  // a tie, to even
      {65520 - 0x1p-30, 0x4780, 0x7BFF},       // the largest that f16 holds
      {65520, 0x4780, 0x7C00},                 // Inf from here on
      {-1e300, 0xFF80, 0xFC00},
      {infinity, 0x7F80, 0x7C00},
      {std::numeric_limits<double>::quiet_NaN(), 0x7FC0, 0x7E00},
      {0x1p-25, 0x3300, 0},  // half of f16's smallest: a tie, to 0
      {0x1p-25 + 0x1p-70, 0x3300, 1},
      {-0x1.8p-24, 0xB3C0, 0x8002},  // a subnormal tie
      {0x1p-134 + 0x1p-160, 1, 0},   // half of bf16's smallest, and a little
      {0x1p-134, 0, 0},
      {-0.0, 0x8000, 0x8000}};
  std::vector<double> table;
  for (const Rounding& each : cases) table.push_back(each.value);
  const T5Buckets one_of_each{.buckets = static_cast<std::int64_t>(cases.size()),
                              .max_distance = 100,
                              .direction = T5Direction::causal};
  const T5Bias bias{.buckets = one_of_each,
                    .table = test::matrix_of_rows(table, one_of_each.buckets)};
  const Extents extents{.tokens = 120, .heads = 1, .features = 1};
  Tensor bf16({.dtype = DType::bf16, .extents = extents});
  Tensor f16({.dtype = DType::f16, .extents = extents});
  test::require(fill_bias(test::scores_of(bf16.view()), bias, BiasRange{}));
  test::require(fill_bias(test::scores_of(f16.view()), bias, BiasRange{}));
  std::set<std::int64_t> met;
  for (std::int64_t query = 0; query < 120; ++query) {
    const std::int64_t bucket = test::value_of(t5_bucket(-query, one_of_each));
    const Rounding& wanted = cases[static_cast<std::size_t>(bucket)];
    ASSERT_EQ(bf16.bits_at({.token = query}, 0), wanted.bf16) << wanted.value;
    ASSERT_EQ(f16.bits_at({.token = query}, 0), wanted.f16) << wanted.value;
    met.insert(bucket);
  }
  EXPECT_EQ(met.size(), cases.size());
}

// Bits of a block of 4 by 6 whose positions are all moved by shift.
std::vector<std::uint64_t> shifted(const RelativeBias& bias, std::int64_t shift) {
  Tensor out(test::scores_shape(DType::f64, 4, 6));
  test::require(fill_bias(test::scores_of(out.view()), bias,
                          BiasRange{.first_query = 2 + shift, .first_key = shift}));
  return out.all_bits();
}

TEST(RelativeBias, AShiftOfAllPositionsChangesNothing) {
  for (const Sample& sample : test::samples()) {
    SCOPED_TRACE(sample.name);
    for (const std::int64_t shift : {std::int64_t{1}, std::int64_t{4096}, -(std::int64_t{1} << 40)})
      ASSERT_EQ(shifted(sample.bias, shift) == shifted(sample.bias, 0),
                depends_on_distance_alone(sample.bias) || (sample.name == "fire" && shift < 4096));
  }
}

// FIRE within |threshold|; beyond, the normaliser follows the query.
TEST(RelativeBias, FireIsShiftInvariantUpToItsThreshold) {
  const RelativeBias fire = test::samples()[7].bias;
  ASSERT_EQ(to_string(fire), "fire");
  EXPECT_EQ(shifted(fire, 507), shifted(fire, 0));  // queries 509 to 512
  EXPECT_NE(shifted(fire, 508), shifted(fire, 0));
  EXPECT_NE(shifted(fire, 1000), shifted(fire, 1001));
}

// m j - m j' = -m (i - j) + m (i - j'): a row differs by a constant, which softmax removes.
TEST(RelativeBias, AlibisFormsDifferByAConstantInEachRow) {
  Alibi alibi{.heads = 3};
  Alibi by_key = alibi;
  by_key.form = AlibiForm::key_position;
  for (std::int64_t key = 0; key < 9; ++key) {
    const double causal = test::value_of(bias_at(alibi, {.head = 1, .query = 8, .key = key}));
    const double other = test::value_of(bias_at(by_key, {.head = 1, .query = 8, .key = key}));
    EXPECT_EQ(other - causal, 8 * 0.00390625);
  }
}

TEST(RelativeBias, WhatIsMaskedInCausalAttention) {
  Alibi alibi{.heads = 1};
  EXPECT_GT(test::value_of(bias_at(alibi, {.query = 1, .key = 5})), 0);
  alibi.form = AlibiForm::symmetric;
  EXPECT_LT(test::value_of(bias_at(alibi, {.query = 1, .key = 5})), 0);
}

TEST(T5Buckets, AreThoseOfRealLogarithmsButOnTheirEdges) {
  std::vector<std::int64_t> positions = {int64_min, int64_min + 1, int64_max};
  for (std::int64_t p = -2000; p <= 2000; ++p) positions.push_back(p);
  for (int power = 11; power < 63; ++power) {
    for (const std::int64_t step : {-1, 0, 1}) {
      positions.push_back((std::int64_t{1} << power) + step);
      positions.push_back(-(std::int64_t{1} << power) + step);
    }
  }
  for (const auto direction : {T5Direction::bidirectional, T5Direction::causal}) {
    for (const auto& [buckets, most] : {std::pair<std::int64_t, std::int64_t>{32, 128},
                                        {64, 256},
                                        {100, 800},
                                        {4, 2},
                                        {6, 1000000},
                                        {40, std::int64_t{1} << 40}}) {
      for (const auto rounding : {T5Rounding::transformers, T5Rounding::ggml}) {
        T5Buckets spec{.buckets = buckets, .max_distance = most, .direction = direction};
        if (direction == T5Direction::causal && most == 2) spec.max_distance = 3;
        spec.rounding = rounding;
        int edges = 0;
        for (const std::int64_t position : positions) {
          const auto exact = reference::t5_bucket(position, spec);
          const std::int64_t got = test::value_of(t5_bucket(position, spec));
          edges += exact.on_edge ? 1 : 0;
          ASSERT_LE(std::abs(got - exact.bucket), exact.on_edge ? 1 : 0)
              << position << " of " << buckets << ", " << most;
          ASSERT_GE(got, 0);
          ASSERT_LT(got, buckets);
        }
        ASSERT_LT(edges, 40);
      }
    }
  }
}

// The two programs' operations, each on the edge of a bucket: 8 is where 64 = 8 · 16^(6/8) begins.
TEST(T5Buckets, RoundingsDifferOnlyOnEdges) {
  T5Buckets spec{.buckets = 32, .max_distance = 128, .direction = T5Direction::bidirectional};
  T5Buckets ggml = spec;
  ggml.rounding = T5Rounding::ggml;
  for (std::int64_t position = -1000; position <= 1000; ++position) {
    const auto a = test::value_of(t5_bucket(position, spec));
    const auto b = test::value_of(t5_bucket(position, ggml));
    EXPECT_TRUE(a == b || reference::t5_bucket(position, spec).on_edge) << position;
  }
}

TEST(AlibiSlopes, AreThoseOfPressAndOfMptForEveryNumberOfHeads) {
  for (std::int64_t heads = 1; heads <= 130; ++heads) {
    for (const double bias_max : {8.0, 4.0, 64.0}) {
      const Alibi alibi{.heads = heads, .bias_max = bias_max};
      const auto got = test::value_of(alibi_slopes(alibi));
      for (const auto& exact :
           {reference::alibi_slopes(alibi), reference::mpt_slopes(heads, bias_max)}) {
        ASSERT_EQ(got.size(), exact.size());
        for (std::size_t h = 0; h < got.size(); ++h)
          ASSERT_LE(std::abs(got[h] - exact[h]), bias_error_bound * exact[h]) << heads << ' ' << h;
      }
    }
  }
}

// ggml_compute_forward_soft_max: m0 to the power h + 1, m1 to an odd power.
TEST(AlibiSlopes, AreThoseOfGgml) {
  for (const std::int64_t heads : {1, 2, 3, 12, 40, 71, 112}) {
    const auto got = test::value_of(alibi_slopes({.heads = heads}));
    const double below = std::exp2(std::floor(std::log2(static_cast<double>(heads))));
    const double m0 = std::pow(2, -8 / below);
    const double m1 = std::pow(2, -4 / below);
    for (std::size_t h = 0; h < got.size(); ++h) {
      const auto head = static_cast<double>(h);
      const double wanted =
          head < below ? std::pow(m0, head + 1) : std::pow(m1, 2 * (head - below) + 1);
      EXPECT_NEAR(got[h], wanted, 1e-13 * wanted);  // m0 off by 2^-53, to a power of at most 128
    }
  }
}

TEST(AlibiSlopes, AShardHasTheSlopesOfItsHeads) {
  const auto all = test::value_of(alibi_slopes({.heads = 12}));
  for (std::int64_t first = 0; first < 12; first += 4) {
    const auto slopes =
        test::value_of(alibi_slopes({.heads = 4, .first_head = first, .model_heads = 12}));
    EXPECT_TRUE(std::equal(slopes.begin(), slopes.end(), all.begin() + first));
  }
}

TEST(AlibiKeyPositions, CountTheKeysThatAreNotPadding) {
  const std::vector<std::uint8_t> mask = {0, 0, 1, 1, 0, 1};
  std::vector<std::int64_t> positions(6, -7);
  test::require(alibi_key_positions(positions, mask));
  EXPECT_EQ(positions, (std::vector<std::int64_t>{0, 0, 0, 1, 0, 2}));
  std::vector<std::int64_t> few(5, -7);
  EXPECT_FALSE(alibi_key_positions(few, mask));
  EXPECT_EQ(few, std::vector<std::int64_t>(5, -7));
}

TEST(Kerple, ParametersAreKeptWhereItsAuthorsKeepThem) {
  const KerpleLog log = clamped(KerpleLog{.p = {-1, 0.5}, .a = {0, 3}});
  EXPECT_EQ(log, (KerpleLog{.p = {0.01, 0.5}, .a = {0.01, 3}}));
  const KerplePower power = clamped(KerplePower{.a = {-1, 30}, .p = {0, 2.5}});
  EXPECT_EQ(power, (KerplePower{.a = {0.01, 30}, .p = {0.01, 2}}));
}

}  // namespace
}  // namespace rotary
