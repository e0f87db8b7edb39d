// SPDX-License-Identifier: Apache-2.0
// Tests mistakes that no list has, so that identify() must measure their values.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include "identify/faulty_rotation.hpp"
#include "reference/frequencies.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

RotarySpec spec_with(double base, const Scaling& scaling, std::int64_t rotary_dim = 128) {
  return {.head_dim = 128,
          .rotary_dim = rotary_dim,
          .base = base,
          .pairing = Pairing::half,
          .scaling = scaling};
}

// Rotates 8 tokens from position `first` on. f16 does not hold 3001, an odd number beyond 2048.
Identification identified(const ModelSpec& model, const FaultyRotation& rotation,
                          std::int64_t first = 3001) {
  Random random(31);
  const Coordinates positions = run_from(first);
  const Heads before = random_heads(8, rotation.spec.head_dim, DType::f32, random);
  return identify_heads(before, rotated(before, rotation, positions), positions, {.model = model});
}

// Rounds the frequencies to float32, as a program prints them.
Identification identified_frequencies(const FaultyRotation& rotation) {
  std::vector<double> printed;
  for (const long double frequency : frequencies_of(rotation))
    printed.push_back(static_cast<float>(rotation.stretch * frequency));
  const auto a = static_cast<double>(reference::frequencies(rotation.spec).attention_factor);
  return value_of(identify_frequencies(printed, a, {.model = model_with(rotation.spec)}));
}

void expect_one_cause(const Identification& found, std::string_view name, std::string_view value) {
  ASSERT_GE(found.tied, 1U) << shown(found);
  const auto& causes = found.explanations.front().causes;
  ASSERT_EQ(causes.size(), 1U) << shown(found);
  EXPECT_EQ(causes.front().hypothesis->name, name) << shown(found);
  EXPECT_EQ(causes.front().fields.back().other, value) << shown(found);
}

std::vector<RotarySpec> blending_specs() {
  std::vector<RotarySpec> specs;
  for (const double factor : {4.0, 8.0, 40.0}) {
    specs.push_back(spec_with(1e6, YarnScaling{.factor = factor, .original_context_tokens = 4096}));
    specs.push_back(spec_with(5e5, Llama3Scaling{factor, 1, 4, 8192}));
    specs.push_back(
        spec_with(1e4, NtkByPartsScaling{.factor = factor, .original_context_tokens = 2048}));
  }
  return specs;
}

TEST(Kinds, AReversedBlendIsNamed) {
  for (const RotarySpec& spec : blending_specs()) {
    SCOPED_TRACE(std::string(rope_type(spec.scaling)));
    const FaultyRotation everywhere{.spec = spec, .blended = Blended::reversed};
    const FaultyRotation between{.spec = spec, .blended = Blended::between};
    expect_one_cause(identified(model_with(spec), everywhere), "blend", "1 - x");
    expect_one_cause(identified(model_with(spec), between), "blend", "1 - x between the ends");
    expect_one_cause(identified_frequencies(everywhere), "blend", "1 - x");
    expect_one_cause(identified_frequencies(between), "blend", "1 - x between the ends");
  }
}

TEST(Kinds, AFactorOfAllFrequenciesIsNamed) {
  constexpr double turns = 2 * std::numbers::pi;
  for (const RotarySpec& spec :
       {spec_with(1e4, NoScaling{}), spec_with(5e5, Llama3Scaling{8, 1, 4, 8192}),
        spec_with(1.5e5, YarnScaling{.factor = 32, .original_context_tokens = 4096})}) {
    for (const double factor : {turns, 1 / turns, 3.0}) {
      FaultyRotation rotation{.spec = spec, .stretch = factor};
      const auto expect_factor = [&](const Identification& found, std::string_view name) {
        ASSERT_EQ(found.verdict, Verdict::another_cause) << shown(found);
        const Cause& cause = found.explanations.front().causes.front();
        EXPECT_EQ(cause.hypothesis->name, name) << shown(found);
        EXPECT_NEAR(std::strtod(cause.fields.front().other.c_str(), nullptr), factor,
                    2e-7 * factor);
      };
      expect_factor(identified_frequencies(rotation), "frequency_factor");
      for (const bool in_float32 : {false, true}) {
        rotation.float_angles = in_float32;
        for (const std::int64_t first : {0, 100, 3000, 100000})
          expect_factor(identified(model_with(spec), rotation, first), "position_factor");
      }
    }
  }
}

TEST(Kinds, AFactorOfAllFeaturesIsNoMistake) {
  const RotarySpec plain = spec_with(1e4, NoScaling{});
  const RotarySpec partial = spec_with(1e4, NoScaling{}, 64);
  const RotarySpec yarn =
      spec_with(1e6, YarnScaling{.factor = 4, .original_context_tokens = 32768});
  for (const RotarySpec& spec : {plain, partial, yarn}) {
    for (const auto& [factor, text] :
         {std::pair(1 / std::sqrt(128.0), "x / sqrt(128)"),
          std::pair(1 / std::sqrt(168.0), "x / sqrt(168)"), std::pair(0.3, "0.3 x")}) {
      const FaultyRotation rotation{.spec = spec, .times_vector = factor};
      const Identification found = identified(model_with(spec), rotation);
      EXPECT_EQ(found.verdict, Verdict::as_configured) << shown(found);
      expect_one_cause(found, "vector_factor", text);
    }
  }
}

// Pads the frequencies of a partial rotation with 0, and forms pairs over the entire head.
TEST(Kinds, PairsFormedOverTheEntireHeadAreNamed) {
  const Scaling yarn = YarnScaling{.factor = 4, .original_context_tokens = 32768};
  for (const Scaling& scaling : {Scaling(NoScaling{}), yarn}) {
    const RotarySpec spec = spec_with(1e6, scaling, 32);
    const Frequencies part = value_of(make_frequencies(spec));
    ExplicitScaling filled{.inv_freq = part.inv_freq, .attention_factor = part.attention_factor};
    filled.inv_freq.resize(64);
    expect_one_cause(identified(model_with(spec), {.spec = spec_with(1e6, filled)}), "window",
                     "of the whole head, others at rest");
  }
}

TEST(Kinds, RotatingTheEntireHeadInsteadOfAPartIsNamed) {
  RotarySpec part = spec_with(1e7, NoScaling{}, 32);
  part.axes = Axes{.pairs = {6, 5, 5}, .exponents = AxisExponents::shared};
  const Identification found = identified(model_with(part), {.spec = spec_with(1e7, NoScaling{})});
  EXPECT_EQ(found.verdict, Verdict::another_cause) << shown(found);
  ASSERT_EQ(found.explanations.front().causes.size(), 1U) << shown(found);
  EXPECT_EQ(found.explanations.front().causes.front().hypothesis->name, "window");
}

// Each shift rounds the keys, so the size of the error gives the number of shifts.
TEST(Kinds, RepeatedShiftsIn16BitsAreCounted) {
  const RotarySpec spec = spec_with(1e4, NoScaling{});
  const std::int64_t step = 256;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const int shifts : {4, 16}) {
      SCOPED_TRACE(shifts);
      Random random(37);
      const Heads before = random_heads(8, 128, dtype, random);
      Heads keys = rotated(before, {.spec = spec}, run_from(6000));
      for (int i = 0; i < shifts; ++i)
        keys = rotated(keys, {.spec = spec}, {std::vector<std::int64_t>(8, -step)});
      const Identification found =
          identify_heads(before, keys, run_from(6000 - shifts * step), {.model = model_with(spec)});
      ASSERT_EQ(found.verdict, Verdict::another_cause) << shown(found);
      const Cause& cause = found.explanations.front().causes.front();
      ASSERT_EQ(cause.hypothesis->name, "roundings") << shown(found);
      const double count = std::strtod(cause.fields.front().other.substr(6).c_str(), nullptr);
      EXPECT_NEAR(count, shifts + 1, 0.35 * shifts);
    }
  }
}

// The factor is dropped, applied twice, or divided by.
TEST(Kinds, AWrongAttentionFactorIsNamed) {
  const RotarySpec yarn =
      spec_with(1e6, YarnScaling{.factor = 4, .original_context_tokens = 32768});
  const RotarySpec given = spec_with(
      1e6, YarnScaling{.factor = 4, .original_context_tokens = 4096, .attention_factor = 1.25});
  const RotarySpec partial =
      spec_with(1e4, YarnScaling{.factor = 40, .original_context_tokens = 4096}, 64);
  for (const RotarySpec& spec : {yarn, given, partial}) {
    const long double a = reference::frequencies(spec).attention_factor;
    for (const long double factor : {1.0L, a * a, 1 / a}) {
      const Identification found = identified(model_with(spec), {.spec = spec, .factor = factor});
      ASSERT_EQ(found.verdict, Verdict::another_cause) << shown(found);
      EXPECT_EQ(found.explanations.front().causes.front().hypothesis->name, "attention_factor");
    }
  }
}

TEST(Kinds, ASpecThatTwoHypothesesGiveIsNamedOnce) {
  const RotarySpec plain = spec_with(1e6, NoScaling{});
  const Llama3Scaling rule{8, 1, 4, 8192};
  for (const RotarySpec& other :
       {spec_with(1e4, NoScaling{}), spec_with(1e6, rule), spec_with(5e5, rule)}) {
    ModelSpec model = model_with(plain);
    model.rotary.push_back(model_with(other).rotary.front());
    const Identification found = identified(model, {.spec = other});
    EXPECT_EQ(found.verdict, Verdict::another_cause);
    EXPECT_EQ(found.tied, 1U) << shown(found);
    EXPECT_EQ(found.explanations.front().causes.size(), 1U) << shown(found);
  }
}

// Keys are rotated with one embedding and shifted by the frequencies of another.
TEST(Kinds, AShiftByAnotherEmbeddingIsNamed) {
  const RotarySpec neighbours{.head_dim = 64, .base = 1e4, .pairing = Pairing::interleaved};
  RotarySpec slower = neighbours;
  slower.base = 1e6;
  Random random(32);
  for (const auto& [own, other, value] :
       {std::tuple(spec_with(1e4, NoScaling{}), spec_with(1e6, LinearScaling{8}), "global"),
        std::tuple(spec_with(5e5, Llama3Scaling{8, 1, 4, 8192}), spec_with(5e5, NoScaling{}),
                   "rope_type default"),
        std::tuple(neighbours, slower, "base 1000000")}) {
    ModelSpec model = model_with(own);
    model.rotary.push_back(model_with(other).rotary.front());
    model.rotary.back().layer_type = "global";
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const std::int64_t shift : {-512, 300, -4000}) {
        const Heads before = random_heads(8, own.head_dim, dtype, random);
        const Coordinates shifts(1, std::vector<std::int64_t>(8, shift));
        const Heads cached = rotated(before, {.spec = own}, run_from(4001 - shift));
        const Heads moved = rotated(cached, {.spec = other, .factor = 1}, shifts);
        const Identification found =
            identify_heads(before, moved, run_from(4001), {.model = model});
        ASSERT_EQ(found.verdict, Verdict::another_cause) << shift << "\n" << shown(found);
        const Cause& cause = found.explanations.front().causes.front();
        EXPECT_EQ(cause.hypothesis->name, "shift_frequencies") << shown(found);
        EXPECT_TRUE(cause.fields.back().other.ends_with(value)) << shown(found);
        EXPECT_TRUE(cause.fields.back().one.starts_with("by " + std::to_string(shift) + " "));
        EXPECT_EQ(found.checked_tokens, 8);
      }
    }
  }
}

}  // namespace
}  // namespace rotary::test
