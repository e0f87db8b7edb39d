// SPDX-License-Identifier: Apache-2.0
// If the text of a spec is invalid, the error says what is wrong and where.
#include <gtest/gtest.h>

#include <source_location>
#include <string>

#include "rotary/frequencies.hpp"
#include "rotary/spec_json.hpp"
#include "support/random.hpp"
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

// A spec has other names, or other places, for some keys of a config.
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

TEST(SpecJsonErrors, InvalidJsonIsRefused) {
  malformed("", {"spec must be valid JSON"});
  malformed(std::string_view("\0", 1), {"spec", "byte"});
  malformed("[]", {"spec must be a JSON object", "got []"});
  malformed("null", {"spec must be a JSON object"});
  malformed(spec_and("") + spec_and(""), {"byte"});
  const auto with_base = [](std::string_view number) {
    std::string spec = R"({"head_dim": 64, "pairing": "half", "base": )";
    return spec.append(number).append("}");
  };
  for (const std::string_view number : {"1e400", "0x10", "+1", "nan", "-NaN", "Inf"}) {
    malformed(with_base(number), {"spec must be valid JSON"});
  }
  for (const std::string_view number : {"NaN", "Infinity", "-Infinity"}) {
    malformed(with_base(number), {"base must be a number, got", number});
  }
}

TEST(SpecJsonErrors, EveryTruncationIsRefused) {
  const std::string spec = with_yarn(R"("truncate": false)");
  ASSERT_TRUE(parse_rotary_spec(spec));
  for (std::size_t size = 0; size < spec.size(); ++size) {
    malformed(std::string_view(spec).substr(0, size), {"JSON"});
  }
}

TEST(SpecJsonErrors, RepeatedKeysAndDeepOrLongTextAreRefused) {
  malformed(spec_and(R"("base": 1e6)"), {"spec", "'base' twice"});
  malformed(with_scaling(R"({"rope_type": "linear", "factor": 2, "factor": 4})"),
            {"'factor' twice"});
  malformed(std::string(1'000'000, '['), {"spec must not nest deeper than 64"});
  std::string deep = R"({"scaling": )";
  for (int i = 0; i < 100; ++i) deep.append(R"({"scaling": )");
  malformed(deep, {"64"});
  constexpr std::size_t cap = std::size_t{16} << 20;
  std::string longest = spec_and("");
  longest.append(cap - longest.size(), ' ');
  EXPECT_TRUE(parse_rotary_spec(longest));
  malformed(longest + " ", {"spec must be at most 16777216 bytes", "16777217"});
}

TEST(SpecJsonErrors, MessagesStayShort) {
  const std::string long_text(100'000, 'a');
  for (const std::string& spec :
       {spec_and("\"" + long_text + "\": 1"),
        with_scaling(R"({"rope_type": ")" + long_text + "\"}"),
        with_scaling(R"({"rope_type": "default", ")" + long_text + "\": 1}"),
        with_scaling("\"" + long_text + "\"")}) {
    const auto result = parse_rotary_spec(spec);
    ASSERT_FALSE(result);
    EXPECT_LE(result.error().message.size(), 1000U);
  }
}

// Changes, removes or repeats bytes at random. Any result is right, but a crash is not.
TEST(SpecJsonErrors, DamagedTextNeverCrashes) {
  test::Random random(41);
  const std::string spec = with_yarn(R"("truncate": false, "mscale": 0.7, "beta_fast": 24)");
  for (int i = 0; i < 10000; ++i) {
    std::string damaged = spec;
    for (std::int64_t damages = random.integer(1, 3); damages > 0; --damages) {
      const auto last = static_cast<std::int64_t>(damaged.size()) - 1;
      const auto at = static_cast<std::size_t>(random.integer(0, last));
      const auto count = static_cast<std::size_t>(random.integer(1, 8));
      if (random.integer(0, 1) == 0) {
        damaged[at] = static_cast<char>(random.integer(0, 255));
      } else if (random.integer(0, 1) == 0 && damaged.size() > at + count) {
        damaged.erase(at, count);
      } else {
        damaged.insert(at, damaged.substr(at, count));
      }
    }
    const auto result = parse_rotary_spec(damaged);
    if (result) {
      (void)make_frequencies(*result);
    } else {
      EXPECT_FALSE(result.error().message.empty());
    }
  }
}

}  // namespace
}  // namespace rotary
