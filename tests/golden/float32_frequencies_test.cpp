// SPDX-License-Identifier: Apache-2.0
// inv_freq under Numerics::transformers against the float32 of Transformers' own functions: the
// same bits but where torch's pow is not the nearest float32.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/spec_json.hpp"
#include "support/recorded_bits.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

std::vector<double> frequencies_of(const nlohmann::json& golden) {
  const RotarySpec spec = test::value_of(parse_rotary_spec(golden.at("spec").dump()));
  std::optional<std::int64_t> context;
  if (!golden.at("context_tokens").is_null()) context = golden.at("context_tokens");
  return test::value_of(make_frequencies(spec, context)).inv_freq;
}

// Units in the last place of float32.
double units_apart(double got, double wanted) {
  const auto number = static_cast<float>(wanted);
  const float next = std::nextafter(number, std::numeric_limits<float>::infinity());
  return std::abs(got - wanted) / static_cast<double>(next - number);
}

struct Agreement {
  int frequencies = 0;
  int equal = 0;
};

TEST(Float32Frequencies, HaveTheBitsOfTransformers) {
  const auto file = test::read_golden("float32_frequencies");
  std::map<std::string, Agreement> rules;
  for (const auto& golden : file.at("cases")) {
    SCOPED_TRACE(golden.at("spec").dump().substr(0, 300));
    const auto got = frequencies_of(golden);
    const auto wanted = golden.at("inv_freq").get<std::vector<double>>();
    test::record_bits(got);
    ASSERT_EQ(got.size(), wanted.size());
    Agreement& rule = rules[golden.at("rule")];
    for (std::size_t pair = 0; pair < got.size(); ++pair) {
      ++rule.frequencies;
      rule.equal += got[pair] == wanted[pair] ? 1 : 0;
      EXPECT_LE(units_apart(got[pair], wanted[pair]), 2) << "pair " << pair;
    }
  }
  EXPECT_EQ(rules.size(), 7U);
  for (const auto& [name, rule] : rules) {
    RecordProperty(name + "_equal", rule.equal);
    RecordProperty(name, rule.frequencies);
    // Each pow of torch is another number once in some 100; dynamic NTK has two.
    EXPECT_GE(rule.equal, 0.975 * rule.frequencies) << name;
  }
}

}  // namespace
}  // namespace rotary
