// SPDX-License-Identifier: Apache-2.0
// Whatever the text of a spec is, the error says what and where.
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

// A whole spec and these further members.
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

TEST(SpecJsonErrors, MissingKeys) {
  malformed("{}", {"head_dim must be given", "got none"});
  malformed(R"({"head_dim": 64, "pairing": "half"})", {"base must be given"});
  malformed(R"({"head_dim": 64, "base": 1e4})", {"pairing must be given"});
  malformed(with_scaling("{}"), {"scaling.rope_type must be given"});
  malformed(with_scaling(R"({"factor": 8})"), {"scaling.rope_type must be given"});
  malformed(with_scaling(R"({"rope_type": "linear"})"), {"scaling.factor must be given"});
  malformed(with_scaling(R"({"rope_type": "ntk"})"), {"scaling.alpha must be given"});
  malformed(with_scaling(R"({"rope_type": "yarn", "factor": 4})"),
            {"scaling.original_max_position_embeddings must be given, got none"});
  malformed(with_scaling(R"({"rope_type": "yarn", "original_max_position_embeddings": 4096})"),
            {"scaling.factor must be given"});
}

TEST(SpecJsonErrors, Axes) {
  const auto axes = [](std::string_view members) {
    std::string text = R"("axes": {)";
    return spec_and(text.append(members).append("}"));
  };
  malformed(axes(R"("exponents": "own")"), {"axes.pairs must be given, got none"});
  malformed(axes(R"("pairs": [32])"), {"axes.exponents must be given, got none"});
  malformed(axes(R"("pairs": [0.5], "exponents": "own")"),
            {"axes.pairs must be integers, got 0.5"});
  malformed(axes(R"("pairs": 32, "exponents": "own")"), {"axes.pairs", "array"});
  malformed(axes(R"("pairs": [32], "exponents": "each")"),
            {"axes.exponents must be shared, own or in_turn, got"});
  malformed(axes(R"("pairs": [32], "exponents": "own", "order": [])"),
            {"axes.order must have one entry for each axis", "got []"});
  malformed(axes(R"("pairs": [32], "sections": [1])"), {"axes.sections is not a key of axes"});
}

TEST(SpecJsonErrors, UnknownKeys) {
  malformed(spec_and(R"("dialect": 1)"),
            {"dialect is not a key",
             "accepts head_dim, rotary_dim, first_feature, base, pairing, scaling"});
  malformed(spec_and(R"("xpos": {"base": 512})"),
            {"xpos.base is not a key of xpos", "accepts scale_base, center"});
  malformed(with_scaling(R"({"rope_type": "linear", "factor": 2, "alpha": 3})"),
            {"scaling.alpha is not a key of rope_type 'linear'", "accepts rope_type, factor"});
  malformed(with_scaling(R"({"rope_type": "default", "factor": 2})"),
            {"scaling.factor is not a key of rope_type 'default'"});
}

TEST(SpecJsonErrors, UnknownNames) {
  malformed(spec_and(R"("numerics": "Exact")"),
            {"numerics must be one of exact, transformers, ggml, vllm, got", "Exact"});
  malformed(spec_and(R"("rounding": "once")"),
            {"rounding must be one of every_step, table, result, double_angle, got", "once"});
  malformed(spec_and(R"("numerics": 1)"), {"numerics must be a string"});
}

TEST(SpecJsonErrors, SenseAndXpos) {
  malformed(spec_and(R"("sense": "backwards")"),
            {"sense must be positive or negative", "got", "backwards"});
  malformed(spec_and(R"("sense": -1)"), {"sense", "got -1"});
  malformed(spec_and(R"("sense": null)"), {"sense", "got null"});
  malformed(spec_and(R"("xpos": true)"), {"xpos must be an object, got true"});
  malformed(spec_and(R"("xpos": null)"), {"xpos", "got null"});
  malformed(spec_and(R"("xpos": {"center": "0"})"), {"xpos.center", "got"});
  malformed(spec_and(R"("xpos": {"scale_base": null})"), {"xpos.scale_base", "got null"});
  malformed(spec_and(R"("xpos": {"scale_bsae": 1})"), {"did you mean scale_base?"});
}

TEST(SpecJsonErrors, MisspeltKeys) {
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

TEST(SpecJsonErrors, NoGuessWhenNothingIsNear) {
  for (const std::string_view key : {"rotaryxxx", "x", "head", "", "first_featurexyz"}) {
    const auto spec = parse_rotary_spec(spec_and(std::string("\"").append(key).append("\": 1")));
    ASSERT_FALSE(spec);
    EXPECT_EQ(spec.error().message.find("did you mean"), std::string::npos) << spec.error().message;
  }
}

// Each has its own place in a spec.
TEST(SpecJsonErrors, WordsOfConfigs) {
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

TEST(SpecJsonErrors, UnknownRopeType) {
  test::refused(parse_rotary_spec(with_scaling(R"({"rope_type": "mystery"})")),
                {"scaling.rope_type", "default, linear, ntk, yarn, llama3", "mystery"},
                ErrorCode::unsupported);
}

TEST(SpecJsonErrors, OtherTypes) {
  for (const std::string_view value : {"\"64\"", "true", "[64]", "{}", "null", "64.5", "1e300"}) {
    for (const std::string_view key : {"head_dim", "rotary_dim", "first_feature"}) {
      std::string spec = R"({"base": 1e4, "pairing": "half")";
      if (key != "head_dim") spec.append(R"(, "head_dim": 64)");
      spec.append(", \"").append(key).append("\": ").append(value).append("}");
      malformed(spec, {key, "got"});
    }
  }
  for (const std::string_view value : {"\"1e4\"", "false", "[1e4]", "null"}) {
    std::string spec = R"({"head_dim": 64, "pairing": "half", "base": )";
    malformed(spec.append(value).append("}"), {"base", "got"});
  }
  for (const std::string_view value : {"1", "true", "null", "\"Half\"", "\"\"", "\"neox\""}) {
    std::string spec = R"({"head_dim": 64, "base": 1e4, "pairing": )";
    malformed(spec.append(value).append("}"), {"pairing", "got"});
  }
  for (const std::string_view value : {"\"linear\"", "[]", "8", "null", "true"}) {
    malformed(with_scaling(value), {"scaling", "got"});
  }
  malformed(with_scaling(R"({"rope_type": 3})"), {"scaling.rope_type", "got 3"});
  malformed(with_scaling(R"({"rope_type": null})"), {"scaling.rope_type", "null"});
  malformed(with_scaling(R"({"rope_type": "linear", "factor": "8"})"),
            {"scaling.factor", R"("8")"});
  malformed(with_yarn(R"("truncate": 0)"), {"scaling.truncate", "got 0"});
  malformed(with_yarn(R"("mscale": null)"), {"scaling.mscale", "null"});
}

TEST(SpecJsonErrors, NotJson) {
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

TEST(SpecJsonErrors, EveryTruncation) {
  const std::string spec = with_yarn(R"("truncate": false)");
  ASSERT_TRUE(parse_rotary_spec(spec));
  for (std::size_t size = 0; size < spec.size(); ++size) {
    malformed(std::string_view(spec).substr(0, size), {"JSON"});
  }
}

TEST(SpecJsonErrors, TwiceDeepOrLong) {
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

// Read as they are, then refused by whoever checks them.
TEST(SpecJsonErrors, ValuesAreCheckedByMakeFrequencies) {
  for (const auto& [members, named] :
       {std::pair{R"("rotary_dim": 0)", "rotary_dim"},
        {R"("rotary_dim": -2)", "rotary_dim"},
        {R"("rotary_dim": 33)", "rotary_dim"},
        {R"("rotary_dim": 66)", "rotary_dim"},
        {R"("first_feature": -1)", "first_feature"},
        {R"("first_feature": 64)", "first_feature"},
        {R"("first_feature": 1)", "rotary_dim"},
        {R"("rotary_dim": -9223372036854775808)", "rotary_dim"},
        {R"("scaling": {"rope_type": "linear", "factor": 0})", "factor"},
        {R"("scaling": {"rope_type": "ntk", "alpha": -8})", "alpha"}}) {
    const RotarySpec spec = test::value_of(parse_rotary_spec(spec_and(members)));
    SCOPED_TRACE(members);
    test::refused(make_frequencies(spec), {named, "got"});
  }
  for (const std::string_view head_dim : {"0", "-64", "1", "1048577", "-9007199254740992"}) {
    std::string spec = R"({"base": 1e4, "pairing": "half", "head_dim": )";
    test::refused(
        make_frequencies(test::value_of(parse_rotary_spec(spec.append(head_dim).append("}")))),
        {"head_dim", head_dim});
  }
  for (const std::string_view base : {"1", "0", "-10000", "1e-300"}) {
    std::string spec = R"({"head_dim": 64, "pairing": "half", "base": )";
    test::refused(
        make_frequencies(test::value_of(parse_rotary_spec(spec.append(base).append("}")))),
        {"base"});
  }
}

// Bytes changed, removed or repeated at random: any answer but a crash.
TEST(SpecJsonErrors, RandomDamage) {
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
