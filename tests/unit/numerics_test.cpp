// SPDX-License-Identifier: Apache-2.0
// The requirements of Numerics::transformers and ggml for specs, rotations and tensors; the
// published error bounds.
#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "rotary/numeric_contract.hpp"
#include "rotary/rotary.hpp"
#include "rotary/rotations.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::refused;
using test::value_of;

constexpr ConsecutivePositions some{.first = 0, .tokens = 2};

RotarySpec spec_of(Numerics numerics, Rounding rounding = Rounding::every_step,
                   const Scaling& scaling = NoScaling{}) {
  return {.head_dim = 8,
          .base = 10000.0,
          .pairing = Pairing::half,
          .scaling = scaling,
          .numerics = numerics,
          .rounding = rounding};
}

Frequencies frequencies_of(Numerics numerics, Rounding rounding = Rounding::every_step) {
  return value_of(make_frequencies(spec_of(numerics, rounding)));
}

TEST(Numerics, FrequenciesOfTransformersAreFloat32ExceptForDoubleAngles) {
  for (const double frequency : frequencies_of(Numerics::transformers).inv_freq) {
    EXPECT_EQ(frequency, static_cast<float>(frequency));
  }
  EXPECT_EQ(frequencies_of(Numerics::transformers, Rounding::double_angle).inv_freq,
            frequencies_of(Numerics::exact).inv_freq);
}

TEST(Numerics, FrequenciesOfGgmlUseTheRampOfWholePairs) {
  YarnScaling yarn{.factor = 32, .original_context_tokens = 4096, .ramp = YarnRamp::fractional};
  RotarySpec spec{.head_dim = 64,
                  .base = 150000.0,
                  .pairing = Pairing::half,
                  .scaling = yarn,
                  .numerics = Numerics::ggml};
  const auto published = value_of(make_frequencies(spec)).inv_freq;
  yarn.ramp = YarnRamp::whole_pairs;
  spec.scaling = yarn;
  spec.numerics = Numerics::exact;
  const auto whole_pairs = value_of(make_frequencies(spec)).inv_freq;
  for (std::size_t i = 0; i < published.size(); ++i) {
    EXPECT_NEAR(published[i], whole_pairs[i], whole_pairs[i] * 1e-14) << "pair " << i;
  }
}

TEST(Numerics, UnknownEnumeratorsAreRefused) {
  refused(make_frequencies(spec_of(static_cast<Numerics>(9))),
          {"numerics must be exact, transformers, ggml or vllm", "got value 9"});
  refused(make_frequencies(spec_of(Numerics::exact, static_cast<Rounding>(0))),
          {"rounding must be every_step, table, result or double_angle", "value 0"});
  Frequencies frequencies = frequencies_of(Numerics::exact);
  frequencies.numerics = static_cast<Numerics>(7);
  refused(make_rotations(frequencies, some), {"numerics", "got value 7"});
}

TEST(Numerics, RoundedTablesNeedATensorType) {
  for (const Rounding rounding : {Rounding::every_step, Rounding::table, Rounding::double_angle}) {
    const Frequencies frequencies = frequencies_of(Numerics::transformers, rounding);
    refused(make_rotations(frequencies, some),
            {"tensors", "must be given", to_string(rounding), "got none"});
    EXPECT_TRUE(make_rotations(frequencies, some, {.tensors = DType::f16}));
  }
  EXPECT_TRUE(make_rotations(frequencies_of(Numerics::transformers, Rounding::result), some));
  EXPECT_TRUE(make_rotations(frequencies_of(Numerics::ggml), some));
}

TEST(Numerics, MismatchedTensorsAndRowsAreRefused) {
  const Frequencies exact = frequencies_of(Numerics::exact);
  refused(make_rotations(exact, some, {.tensors = DType::f64}),
          {"rows must be f64 for tensors of f64, got f32"});
  refused(make_rotations(exact, some, {.rows = RowDType::f64, .tensors = DType::bf16}),
          {"rows must be f32 for tensors of bf16, got f64"});
  refused(make_rotations(exact, some, {.tensors = static_cast<DType>(9)}),
          {"tensors must be f32, bf16, f16 or f64, got value 9"});
  for (const Numerics numerics : {Numerics::transformers, Numerics::ggml}) {
    refused(make_rotations(frequencies_of(numerics), some,
                           {.rows = RowDType::f64, .tensors = DType::f64}),
            {"rows must be f32 for numerics", to_string(numerics), "got f64"});
  }
}

// A view of two tokens and one head, filled with zeros.
struct Zeros {
  std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(16);
  HeadsView view(DType dtype) {
    const Extents extents{.batch = 1, .tokens = 2, .heads = 1, .features = 8};
    return {.data = memory.data(),
            .dtype = dtype,
            .extents = extents,
            .strides = strides_bthd(extents)};
  }
};

TEST(Numerics, RotateRefusesTensorsOfAnotherType) {
  Zeros zeros;
  for (const Numerics numerics : all_numerics) {
    const Rotations rotations =
        value_of(make_rotations(frequencies_of(numerics), some, {.tensors = DType::bf16}));
    const HeadsView right = zeros.view(DType::bf16);
    const HeadsView wrong = zeros.view(DType::f16);
    EXPECT_TRUE(rotate(right, right, rotations));
    refused(rotate(wrong, wrong, rotations), {"src: dtype must be bf16", "tensors", "got f16"});
    refused(rotate_qk(wrong, wrong, rotations), {"q: dtype must be bf16"});
  }
}

TEST(Numerics, InverseNeedsAnAttentionFactorOf1) {
  Zeros zeros;
  const HeadsView view = zeros.view(DType::f32);
  for (const Numerics numerics : {Numerics::transformers, Numerics::ggml}) {
    for (const double factor : {1.0, 1.25}) {
      const YarnScaling yarn{
          .factor = 2, .original_context_tokens = 64, .attention_factor = factor};
      const Rotations rotations = value_of(
          make_rotations(value_of(make_frequencies(spec_of(numerics, Rounding::table, yarn))), some,
                         {.tensors = DType::f32}));
      const Status status = rotate(view, view, rotations, {.direction = Direction::inverse});
      EXPECT_EQ(static_cast<bool>(status), factor == 1);
      EXPECT_TRUE(rotate(view, view, rotations, {.direction = Direction::transpose}));
      if (factor == 1) continue;
      refused(status, {"inverse", "attention_factor of 1", to_string(numerics), "got 1.25"});
    }
  }
}

TEST(Numerics, RemakingKeepsTheTensorTypeAndTakesTheNewNumerics) {
  Rotations rotations =
      value_of(make_rotations(frequencies_of(Numerics::exact), some, {.tensors = DType::f16}));
  EXPECT_EQ(rotations.numerics(), Numerics::exact);
  const auto table = frequencies_of(Numerics::transformers, Rounding::table);
  test::require(remake_rotations(rotations, table, some));
  EXPECT_EQ(rotations.numerics(), Numerics::transformers);
  EXPECT_EQ(rotations.rounding(), Rounding::table);
  EXPECT_EQ(rotations.tensors(), DType::f16);
  const Rotations moved = std::move(rotations);
  EXPECT_EQ(moved.numerics(), Numerics::transformers);
  EXPECT_EQ(moved.rounding(), Rounding::table);
  EXPECT_EQ(moved.tensors(), DType::f16);
  Rotations kept = moved;
  Rotations& itself = kept;
  kept = std::move(itself);
  EXPECT_EQ(kept.tokens(), moved.tokens());

  Rotations any = value_of(make_rotations(frequencies_of(Numerics::exact), some));
  refused(remake_rotations(any, table, some), {"tensors", "got none"});
  EXPECT_EQ(any.numerics(), Numerics::exact);
}

// vLLM rounds the table, whatever the model's class rounds in Transformers.
TEST(Numerics, VllmIsTransformersWithRoundedTables) {
  const Frequencies table = frequencies_of(Numerics::transformers, Rounding::table);
  for (const Rounding rounding : all_roundings) {
    const Frequencies vllm = frequencies_of(Numerics::vllm, rounding);
    EXPECT_TRUE(rotate_alike(vllm, table)) << to_string(rounding);
    EXPECT_EQ(vllm.numerics, Numerics::transformers);
    EXPECT_EQ(vllm.rounding, Rounding::table);
  }
}

TEST(Numerics, RotateAlikeComparesNumericsAndUsedRoundings) {
  const auto exact = frequencies_of(Numerics::exact);
  const auto ggml = frequencies_of(Numerics::ggml);
  const auto table = frequencies_of(Numerics::transformers, Rounding::table);
  EXPECT_TRUE(rotate_alike(exact, frequencies_of(Numerics::exact, Rounding::table)));
  EXPECT_TRUE(rotate_alike(ggml, frequencies_of(Numerics::ggml, Rounding::table)));
  EXPECT_TRUE(rotate_alike(table, frequencies_of(Numerics::transformers, Rounding::table)));
  EXPECT_FALSE(rotate_alike(table, frequencies_of(Numerics::transformers, Rounding::result)));
  EXPECT_FALSE(rotate_alike(exact, ggml));
  auto other = ggml;
  other.ggml->freq_scale = 0.5F;
  EXPECT_FALSE(rotate_alike(ggml, other));
}

TEST(Numerics, GgmlRefusesPositionsBeyondInt32) {
  const Frequencies ggml = frequencies_of(Numerics::ggml);
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  EXPECT_TRUE(make_rotations(ggml, ConsecutivePositions{.first = most - 1, .tokens = 2}));
  EXPECT_TRUE(make_rotations(ggml, ConsecutivePositions{.first = most + 1, .tokens = 0}));
  refused(make_rotations(ggml, ConsecutivePositions{.first = most, .tokens = 2}),
          {"integers within int32", "2 tokens from 2147483647"});
  refused(make_rotations(ggml, ConsecutivePositions{.first = -most - 2, .tokens = 1}),
          {"integers within int32"});
  const std::vector<std::int64_t> wide = {most, most + 1};
  refused(make_rotations(ggml, positions_of(wide)),
          {"integers within int32", "2147483648", "batch 0, token 1"});
  for (const double bad : {0.5, 2147483648.0, -2147483649.0}) {
    const std::vector<double> between = {3.0, bad};
    refused(make_rotations(ggml, positions_of(between)),
            {"integers within int32 for numerics ggml", "batch 0, token 1"});
  }
  const std::vector<double> whole = {-2147483648.0, 2147483647.0};
  EXPECT_TRUE(make_rotations(ggml, positions_of(whole)));
}

TEST(Numerics, GgmlRefusesNumbersBeyondItsTypes) {
  RotarySpec spec = spec_of(Numerics::ggml);
  for (const double base : {1e300, 1 + 1e-12}) {
    spec.base = base;
    refused(make_frequencies(spec), {"base", "float32", "numerics ggml"});
  }
  spec.base = 10000.0;
  spec.scaling = YarnScaling{.factor = 2, .original_context_tokens = std::int64_t{1} << 31};
  refused(make_frequencies(spec), {"original_max_position_embeddings", "int32", "got 2147483648"});
  // This ramp stretches no pair, but with these factors ggml would compute 0 * Inf.
  for (const double factor : {1e300, 1e-38}) {
    spec.scaling = YarnScaling{.factor = factor,
                               .original_context_tokens = 1 << 30,
                               .beta_slow = 1e-3,
                               .attention_factor = 1};
    refused(make_frequencies(spec), {"factor must be finite and > 2^-40"});
  }
  Frequencies frequencies = frequencies_of(Numerics::ggml);
  frequencies.ggml->freq_factors = {1, 2};
  refused(make_rotations(frequencies, some), {"freq_factors", "4", "got 2"});
  frequencies.ggml.reset();
  refused(make_rotations(frequencies, some), {"frequencies.ggml", "none"});
}

TEST(Numerics, TransformersAndGgmlRefuseUnsupportedSpecs) {
  constexpr auto unsupported = ErrorCode::unsupported;
  for (const Numerics numerics : {Numerics::transformers, Numerics::ggml}) {
    RotarySpec spec = spec_of(numerics);
    spec.xpos = Xpos{};
    refused(make_frequencies(spec), {"xpos needs numerics exact, got", to_string(numerics)},
            unsupported);
  }
  RotarySpec spec = spec_of(Numerics::ggml);
  spec.sense = Sense::negative;
  refused(make_frequencies(spec), {"ggml needs sense positive"}, unsupported);
}

TEST(Numerics, TransformersNeedsAFrequencyForEachPair) {
  Frequencies frequencies = frequencies_of(Numerics::exact);
  frequencies.numerics = Numerics::transformers;
  frequencies.inv_freq.pop_back();
  refused(make_rotations(frequencies, some, {.tensors = DType::f32}),
          {"inv_freq must have one entry for each pair, 4", "got 3"});
}

// The published bounds must not change, because users may have copied them.

TEST(NumericContract, AngleErrorGrowsWithThePosition) {
  EXPECT_EQ(angle_error_bound(0), 0x1p-50);
  EXPECT_EQ(angle_error_bound(-4096), angle_error_bound(4096));
  EXPECT_EQ(angle_error_bound(-4096.0), angle_error_bound(4096));
  EXPECT_GT(angle_error_bound(4096.5), angle_error_bound(4096));
  EXPECT_NEAR(angle_error_bound(std::int64_t{1} << 40), 6.2832 * 0x1p-25, 1e-11);
  EXPECT_GT(angle_error_bound(std::numeric_limits<std::int64_t>::min()), 1.5);
}

TEST(NumericContract, RowErrorIsHalfAnUlpPlusTheAngleError) {
  EXPECT_EQ(row_error_bound(0.75, 1, 0), 0x1p-25 + 0x1p-50);
  EXPECT_EQ(row_error_bound(-0.75, 1, 0), 0x1p-25 + 0x1p-50);
  EXPECT_EQ(row_error_bound(1.5, 2, 0), 0x1p-24 + 0x1p-49);
}

TEST(NumericContract, RotatedErrorIsThreeUnitsNearTheOrigin) {
  EXPECT_NEAR(rotate_error_bound(Direction::forward, 1, 0), 3, 1e-5);
  EXPECT_NEAR(rotate_error_bound(Direction::transpose, 1.25, 0), 3, 1e-5);
  EXPECT_NEAR(rotate_error_bound(Direction::inverse, 1, 131071), 3, 1e-5);
  EXPECT_NEAR(rotate_error_bound(Direction::inverse, 1.25, 0), 5, 1e-5);
}

TEST(NumericContract, Bfloat16AddsItsOwnHalfUlp) {
  EXPECT_NEAR(rotate_bf16_error_bound(Direction::forward, 1, 0), 3 + 0x1p16, 0.02);
}

TEST(NumericContract, Float16AddsItsOwnHalfUlp) {
  EXPECT_NEAR(rotate_f16_error_bound(Direction::forward, 1, 0, 1), 3 + 0x1p13, 0.01);
  EXPECT_NEAR(rotate_f16_error_bound(Direction::inverse, 1.25, 0, 0x1p-14), 5 + 0x1p13, 0.01);
}

// The bound is never below half of 2^-24, the spacing of subnormal f16 numbers.
TEST(NumericContract, Float16AddsHalfTheSpacingOfItsSubnormals) {
  for (const double hypot : {0x1p-16, 0x1p-24, 0x1p-30}) {
    const double bound = rotate_f16_error_bound(Direction::forward, 1, 0, hypot);
    EXPECT_NEAR(bound * 0x1p-24 * hypot, 0x1p-25, 4 * 0x1p-24 * hypot);
    EXPECT_GT(bound * 0x1p-24 * hypot, 0x1p-25);
  }
  EXPECT_EQ(f16_overflow, 65504 + 16);
}

// In units of 2^-53 the row's error, 2^-50, is 8. It adds 8 √2 to the error of a rotated pair.
TEST(NumericContract, Float64ErrorIsTwoRoundingsPlusTheRowError) {
  EXPECT_EQ(row_f64_error_bound(2, 0), 0x1p-49);
  EXPECT_NEAR(rotate_f64_error_bound(Direction::forward, 1, 0), 2 + 8 * 1.41421, 1e-4);
  EXPECT_NEAR(rotate_f64_error_bound(Direction::inverse, 1.25, 0), 5 + 8 * 1.41421, 1e-4);
  EXPECT_NEAR(rotate_f64_error_bound(Direction::inverse, 1, 0), 2 + 8 * 1.41421, 1e-4);
}

// The row's rounding is half an ulp of the computed value, here binades above the exact value.
TEST(NumericContract, RowsSmallerThanTheAngleErrorStayWithinTheBound) {
  constexpr std::int64_t position = 35184409153272;
  constexpr double exact = -0x1.bd70a63c3facp-20;  // sin(position * inv_freq), by MPFR
  const auto frequencies = test::value_of(
      make_frequencies(HeadWindow{.head_dim = 2, .rotary_dim = 2, .pairing = Pairing::half},
                       {0x1.a2b3c575956dep-1}, 1));
  const auto rotations = test::value_of(
      make_rotations(frequencies, ConsecutivePositions{.first = position, .tokens = 1}));
  const double error = std::abs(static_cast<double>(rotations.sin(0, 0)[0]) - exact);
  EXPECT_LE(error, row_error_bound(exact, 1, position));
  EXPECT_GT(error, angle_error_bound(position));  // the angle's bound alone would fail
}

// With 64 features, 1000 keys and scores up to 30, the bound is 2e-4 of the largest value.
TEST(NumericContract, AttentionErrorGrowsWithScoresFeaturesAndKeys) {
  const AttendedRow row{.head_dim = 64, .keys = 1000, .score_size = 30};
  EXPECT_NEAR(attend_score_error(row), 72 * 30 * 0x1p-24, 1e-6);
  EXPECT_NEAR(attend_error_bound(row) * 0x1p-24, 2.08e-4, 1e-6);
  EXPECT_NEAR(attend_log_sum_exp_error_bound(row, 10), 1.49e-4, 1e-6);
  AttendedRow turned = row;
  turned.rotation = 6;
  EXPECT_NEAR(attend_score_error(turned) / attend_score_error(row), (72 + 8.485) / 72, 1e-4);
  EXPECT_NEAR(attend_weight_error_bound(row), 2.76e-4, 1e-6);
  AttendedRow with_vectors = row;
  with_vectors.distance_size = 10;
  EXPECT_NEAR(attend_score_error(with_vectors) / attend_score_error(row),
              (72 * 30 + 64 * 10) / (72.0 * 30), 1e-4);
  with_vectors = row;
  with_vectors.value_distances = 129;
  EXPECT_NEAR(attend_sums_error(with_vectors) - attend_sums_error(row),
              (129 + 512 + 3 * 35 + 33) * 0x1p-24, 1e-8);
  // For large scores the bound is 2: two weighted means differ by at most twice the largest value.
  const AttendedRow steep{.head_dim = 64, .keys = 1000, .score_size = 1e30};
  EXPECT_NEAR(attend_error_bound(steep) * 0x1p-24, 2, 1e-3);
  EXPECT_EQ(attend_error_bound({.head_dim = 64, .keys = 1 << 24}),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace rotary
