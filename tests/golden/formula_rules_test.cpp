// SPDX-License-Identifier: Apache-2.0
// Compares inv_freq of scaling rules that are formulas with reference values of 50 digits.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/spec_json.hpp"
#include "support/frequency_tolerance.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

TEST(FormulaRules, FrequenciesAgreeWith50Digits) {
  const auto file = test::read_golden("formula_rules");
  for (const auto& golden : file.at("cases")) {
    const RotarySpec spec = test::value_of(parse_rotary_spec(golden.at("spec").dump()));
    SCOPED_TRACE(golden.at("spec").dump());
    const auto got = test::value_of(make_frequencies(spec)).inv_freq;
    const auto wanted = golden.at("inv_freq").get<std::vector<double>>();
    test::record_bits(got);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(got[i], wanted[i], std::abs(wanted[i]) * test::frequency_tolerance(spec))
          << "pair " << i;
    }
  }
}

}  // namespace
}  // namespace rotary
