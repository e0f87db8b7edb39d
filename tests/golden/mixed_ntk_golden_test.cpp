// SPDX-License-Identifier: Apache-2.0
// Compares MixedNtkScaling with vLLM's rope_type "ntk", which Transformers lacks.
#include <gtest/gtest.h>

#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/frequencies.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

void expect_as_vllm(const nlohmann::json& golden) {
  MixedNtkScaling rule{.factor = golden.at("factor").get<double>()};
  if (!golden.at("mixed_b").is_null()) rule.mixed_b = golden.at("mixed_b").get<double>();
  const Frequencies got =
      test::value_of(make_frequencies({.head_dim = golden.at("dim").get<std::int64_t>(),
                                       .base = golden.at("theta").get<double>(),
                                       .pairing = Pairing::half,
                                       .scaling = rule}));
  const auto wanted = golden.at("inv_freq").at("data").get<std::vector<double>>();
  test::record_bits(got.inv_freq);
  test::expect_near(got.inv_freq, wanted, test::float32_tolerance);
}

TEST(MixedNtkGolden, AgreesWithVllm) {
  const auto file = test::read_golden("vllm_ntk");
  for (const char* const form : {"ntk_fixed", "ntk_mixed"}) {
    SCOPED_TRACE(form);
    expect_as_vllm(file.at(form));
  }
}

}  // namespace
}  // namespace rotary
