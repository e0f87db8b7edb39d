// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <source_location>
#include <string>

#include "rotary/spec_json.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

void malformed(std::string_view spec, test::Parts parts,
               const std::source_location& at = std::source_location::current()) {
  test::refused(parse_rotary_spec(spec), parts, ErrorCode::malformed_input, at);
}

// A valid spec with additional members.
std::string spec_and(std::string_view members) {
  std::string spec = R"({"head_dim": 64, "base": 10000, "pairing": "half")";
  if (!members.empty()) spec.append(", ").append(members);
  return spec + "}";
}

std::string with_scaling(std::string_view scaling) {
  std::string member = R"("scaling": )";
  return spec_and(member.append(scaling));
}

std::string with_yarn(std::string_view members) {
  std::string scaling =
      R"({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4096, )";
  return with_scaling(scaling.append(members).append("}"));
}

// tests/c_api/schema_test.py covers missing keys, unknown keys and values of other types.
TEST(SpecJsonErrors, AMisspeltKeyGetsAProposal) {
  malformed(spec_and(R"("xpos": {"scale_bsae": 1})"), {"did you mean scale_base?"});
  for (const std::string_view key :
       {"rotray_dim", "rotary_dims", "rotarydim", "Rotary_dim", "rotary_Dim", "rotary-din"}) {
    malformed(spec_and(std::string("\"").append(key).append("\": 32")),
              {key, "did you mean rotary_dim?"});
  }
  malformed(R"({"haed_dim": 64, "base": 1e4, "pairing": "half"})",
            {"haed_dim", "did you mean head_dim?"});
  malformed(with_scaling(R"({"rope_type": "linear", "facotr": 8})"),
            {"scaling.facotr", "did you mean factor?"});
  malformed(with_yarn(R"("beta_slwo": 2)"), {"did you mean beta_slow?"});
}

TEST(SpecJsonErrors, ADistantKeyGetsNoProposal) {
  for (const std::string_view key : {"rotaryxxx", "x", "head", "", "first_featurexyz"}) {
    const auto spec = parse_rotary_spec(spec_and(std::string("\"").append(key).append("\": 1")));
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().message.find("did you mean"), std::string::npos) << spec.error().message;
  }
}

// A spec names or nests some keys of a config differently.
TEST(SpecJsonErrors, TheErrorForAConfigsKeyNamesTheSpecsKey) {
  malformed(spec_and(R"("rope_theta": 1e4)"), {"base", "got rope_theta"});
  malformed(spec_and(R"("partial_rotary_factor": 0.5)"), {"rotary_dim"});
  malformed(spec_and(R"("rope_scaling": {"rope_type": "linear", "factor": 8})"),
            {"scaling", "got rope_scaling"});
  malformed(with_scaling(R"({"rope_type": "linear", "factor": 8, "rope_theta": 1e4})"),
            {"base, beside scaling", "got scaling.rope_theta"});
  malformed(with_scaling(R"({"rope_type": "default", "partial_rotary_factor": 0.5})"),
            {"scaling.partial_rotary_factor is not a key of rope_type 'default'",
             "rotary_dim, beside scaling"});
  malformed(with_scaling(R"({"type": "linear", "factor": 8})"), {"rope_type", "got scaling.type"});
}

TEST(SpecJsonErrors, AnUnknownRopeTypeIsRefused) {
  test::refused(parse_rotary_spec(with_scaling(R"({"rope_type": "mystery"})")),
                {"scaling.rope_type", "default, linear, ntk, yarn, llama3", "mystery"},
                ErrorCode::unsupported);
}

// resolve_json_test.cpp tests the parser.
TEST(SpecJsonErrors, InvalidJsonAndLongTextAreRefused) {
  malformed("", {"spec must be valid JSON"});
  malformed("[]", {"spec must be a JSON object", "got []"});
  malformed(spec_and(R"("base": 1e6)"), {"spec", "'base' twice"});
  constexpr std::size_t cap = std::size_t{16} << 20;
  std::string longest = spec_and("");
  longest.append(cap - longest.size(), ' ');
  EXPECT_TRUE(parse_rotary_spec(longest));
  malformed(longest + " ", {"spec must be at most 16777216 bytes", "16777217"});
}

TEST(SpecJsonErrors, MessagesStayShort) {
  const std::string long_text(100'000, 'a');
  for (const std::string& spec :
       {spec_and("\"" + long_text + "\": 1"), spec_and(R"("sense": ")" + long_text + "\""),
        with_yarn(R"("ramp": ")" + long_text + "\""),
        with_scaling(R"({"rope_type": "clipped", "edge": ")" + long_text + "\"}"),
        with_scaling("\"" + long_text + "\"")}) {
    const auto result = parse_rotary_spec(spec);
    ASSERT_FALSE(result);
    EXPECT_LE(result.error().message.size(), 1000U);
  }
}

}  // namespace
}  // namespace rotary
