// SPDX-License-Identifier: Apache-2.0
// Compares Numerics::transformers with Transformers' classes, in float32 and, if the file has them,
// bfloat16 and float16. Numbers are equal unless torch's pow, cos or sin misses the nearest
// float32. Exact angles would miss the bound at position 131071 by thousands of units.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/numeric_contract.hpp"
#include "rotary/rotary.hpp"
#include "support/cases.hpp"
#include "support/oracle.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::HeadIndex;
using test::Tensor;

struct Case {
  std::string name;
  RotarySpec spec;
};

class NumericsGolden : public testing::TestWithParam<Case> {};

RotarySpec spec_of(std::int64_t head_dim, std::int64_t rotary_dim, double base, Pairing pairing) {
  return {.head_dim = head_dim, .rotary_dim = rotary_dim, .base = base, .pairing = pairing};
}

Case rounding(Case of, Rounding rounding) {
  of.spec.rounding = rounding;
  return of;
}

Case scaled(Case of, const Scaling& scaling) {
  of.spec.scaling = scaling;
  return of;
}

// Resolves the file's config; pairing, sense and rounding come from the family.
Case resolved(const std::string& name, std::string_view model_type) {
  return {name, test::resolved_spec(test::read_golden(name).at("config"), model_type,
                                    Numerics::transformers)};
}

// Specs from the files' configs, or from the notes of files without a config.
std::vector<Case> cases() {
  constexpr Pairing interleaved = Pairing::interleaved;
  return {
      resolved("llama_half_split", "llama"),
      resolved("llama_linear4", "llama"),
      resolved("llama31_scaled", "llama"),
      resolved("llama_yarn4_mscale", "llama"),
      resolved("gpt_neox_partial25", "gpt_neox"),
      resolved("glm4_interleaved_partial50", "glm4"),
      resolved("nanochat_negative_rotation", "nanochat"),
      {"gptj_interleaved_partial", spec_of(32, 16, 10000, interleaved)},
      scaled({"gemma4_proportional", spec_of(64, 64, 1000000, Pairing::half)},
             ProportionalScaling{.turning_fraction = 0.25}),
      rounding(scaled({"deepseek_v2_complex_interleaved", spec_of(64, 64, 10000, interleaved)},
                      YarnScaling{.factor = 40,
                                  .original_context_tokens = 4096,
                                  .mscale = 0.707,
                                  .mscale_all_dim = 0.707}),
               Rounding::result),
      rounding({"llama4_complex_interleaved", spec_of(64, 64, 500000, interleaved)},
               Rounding::result),
      rounding({"roformer_sinusoidal", spec_of(16, 16, 10000, interleaved)},
               Rounding::double_angle),
  };
}

Frequencies frequencies_of(RotarySpec spec) {
  spec.numerics = Numerics::transformers;
  return test::value_of(make_frequencies(spec));
}

// The distance from a number of a 16-bit dtype to the next.
double ulp(DType dtype, double value) {
  const bool wide = dtype == DType::bf16;
  const int exponent = std::max(value == 0 ? -1000 : std::ilogb(value), wide ? -126 : -14);
  return std::ldexp(1.0, exponent - (wide ? 7 : 10));
}

struct Run {
  const Frequencies& frequencies;
  const std::vector<std::int64_t>& positions;
  DType dtype;
};

double tolerance(const Run& run, std::int64_t position, std::size_t pair) {
  return transformers_agreement(run.frequencies.attention_factor, static_cast<double>(position),
                                std::abs(run.frequencies.inv_freq[pair]));
}

struct Compared {
  int elements = 0;
  int equal = 0;
};

void compare(const Run& run, const Tensor& src, const Tensor& got, const Tensor& wanted,
             Compared& total) {
  const HeadWindow& window = run.frequencies.window;
  const auto partner = [&](std::int64_t f) {
    for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
      const auto [x, y] = test::features_read(window, Direction::forward, pair);
      if (f == x || f == y) return std::pair{static_cast<std::size_t>(pair), f == x ? y : x};
    }
    return std::pair{std::size_t{0}, f};
  };
  test::for_each_element(got.extents(), [&](const HeadIndex& index, std::int64_t f) {
    ++total.elements;
    total.equal += got.bits_at(index, f) == wanted.bits_at(index, f) ? 1 : 0;
    if (!test::turns(window, f)) {
      ASSERT_EQ(got.bits_at(index, f), wanted.bits_at(index, f)) << "feature " << f;
      return;
    }
    const auto [pair, other] = partner(f);
    const std::int64_t position = run.positions[static_cast<std::size_t>(index.token)];
    const double hypot = std::hypot(src.at(index, f), src.at(index, other));
    const double one_ulp = run.dtype == DType::f32 ? 0 : ulp(run.dtype, wanted.at(index, f));
    ASSERT_NEAR(got.at(index, f), wanted.at(index, f),
                tolerance(run, position, pair) * hypot + one_ulp)
        << to_string(run.dtype) << " position " << position << " feature " << f;
  });
}

// outputs: the file's results for this dtype.
Compared expect_agreement(const Run& run, const nlohmann::json& file,
                          const nlohmann::json& outputs) {
  const Rotations rotations = test::value_of(make_rotations(
      run.frequencies, positions_of(std::span(run.positions)), {.tensors = run.dtype}));
  const auto layout = file.at("layout").get<std::string>();
  Compared total;
  for (const auto& [in, out] : {std::pair{"q", "q_out"}, std::pair{"k", "k_out"},
                                std::pair{"v", "v_out_if_rotary_value"}}) {
    if (!outputs.contains(out)) continue;
    const Tensor src = test::rounded_to(run.dtype, test::read_tensor(file.at(in), layout));
    Tensor got = src;
    test::require(rotate(got.view(), got.view(), rotations));
    test::record_bits(got.all_bits());
    const Tensor wanted = test::rounded_to(run.dtype, test::read_tensor(outputs.at(out), layout));
    compare(run, src, got, wanted, total);
  }
  return total;
}

TEST_P(NumericsGolden, AgreesOnEveryDtype) {
  const auto file = test::read_golden(GetParam().name);
  const Frequencies frequencies = frequencies_of(GetParam().spec);
  const auto positions = file.at("positions").get<std::vector<std::int64_t>>();
  const auto check = [&](DType dtype, const nlohmann::json& outputs) {
    const Compared total = expect_agreement({frequencies, positions, dtype}, file, outputs);
    const std::string name(to_string(dtype));
    RecordProperty(name + "_elements", total.elements);
    RecordProperty(name + "_equal", total.equal);
    // Today all elements are equal. With a single rounding, four fifths would be.
    if (dtype != DType::f32) {
      EXPECT_GE(total.equal, total.elements * 0.98) << name;
    }
  };
  check(DType::f32, file);
  if (!file.contains("half_precision")) return;
  check(DType::bf16, file.at("half_precision").at("bfloat16"));
  check(DType::f16, file.at("half_precision").at("float16"));
}

INSTANTIATE_TEST_SUITE_P(Transformers, NumericsGolden, testing::ValuesIn(cases()),
                         [](const auto& golden) { return golden.param.name; });

}  // namespace
}  // namespace rotary
