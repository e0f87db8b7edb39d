// SPDX-License-Identifier: Apache-2.0
// inv_freq and attention factor of real models' configs: against Transformers' float32 values and
// against an independent restatement of its formulas in double.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/frequencies.hpp"
#include "support/frequency_tolerance.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

// torch's float32 pow, quotient and blend are within 4 ulp of the truth.
constexpr double float_tolerance = 0x1p-21;

class FrequenciesGolden : public testing::TestWithParam<std::string> {};

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted,
                 double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], wanted[i], wanted[i] * tolerance) << "pair " << i;
  }
}

TEST_P(FrequenciesGolden, AgreesWithTransformers) {
  const auto file = test::read_golden(GetParam());
  const RotarySpec spec =
      test::resolved_spec(file.at("config"), file.at("family").get<std::string>());
  const auto& result = file.at("results").at(0);
  EXPECT_EQ(rope_type(spec.scaling), result.at("rope_type").get<std::string>());

  const Frequencies got = test::value_of(make_frequencies(spec));
  EXPECT_EQ(got.window.head_dim, result.at("head_dim").get<std::int64_t>());
  EXPECT_EQ(got.window.rotary_dim, result.at("rotary_dim").get<std::int64_t>());
  EXPECT_NEAR(got.attention_factor, result.at("attention_scaling").get<double>(), 1e-15);
  expect_near(got.inv_freq, result.at("inv_freq_f32").get<std::vector<double>>(), float_tolerance);
  // Two computations in double, each as far from the truth as the tolerance says.
  expect_near(got.inv_freq, result.at("inv_freq_f64_reference").get<std::vector<double>>(),
              2 * test::frequency_tolerance(spec));
}

std::string without_dots(std::string name) {
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(Transformers, FrequenciesGolden,
                         testing::Values("invfreq_llama2_7b", "invfreq_llama3.1_8b",
                                         "invfreq_llama3.2_1b", "invfreq_yarn_llama2_7b_128k",
                                         "invfreq_qwen2.5_7b_yarn4",
                                         "invfreq_longchat_7b_32k_linear8", "invfreq_gpt_neox_20b"),
                         [](const auto& golden) { return without_dots(golden.param); });

}  // namespace
}  // namespace rotary
