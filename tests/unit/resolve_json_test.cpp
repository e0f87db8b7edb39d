// SPDX-License-Identifier: Apache-2.0
// For any bytes resolve() returns a model, or an error that says what is wrong and where.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "support/random.hpp"
#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::json_object;
using test::json_text;
using test::llama_with;
using test::malformed;
using test::member;

std::string nested(std::size_t depth) {
  std::string config = R"({"model_type": "llama", "head_dim": 64, "other": )";
  config.append(depth, '[').append(depth, ']');
  return config + "}";
}

TEST(ResolveJson, EmptyTextIsRefused) {
  malformed("", {"JSON"});
  malformed("   \n", {"JSON"});
  malformed(std::string_view("\0", 1), {"JSON", "byte"});
  malformed(std::string_view("\xFF\xFE{\0", 4), {"must be JSON text", "NUL byte at byte 3"});
}

// nlohmann/json takes a NUL byte for the end of the text.
TEST(ResolveJson, TextAfterANulIsRefused) {
  const std::string config = llama_with("");
  for (const std::string& behind : {std::string("\0", 1), std::string("\0{]", 3)}) {
    malformed(config + behind, {"NUL", std::to_string(config.size())});
  }
}

TEST(ResolveJson, JsonValuesOtherThanObjectsAreRefused) {
  malformed("[]", {"JSON object", "got []"});
  malformed("3", {"JSON object", "got 3"});
  malformed("null", {"JSON object", "got null"});
  malformed(R"("llama")", {"JSON object", R"("llama")"});
}

TEST(ResolveJson, EveryTruncationIsRefused) {
  const std::string config = llama_with(R"("rope_scaling": {"type": "linear", "factor": 2.5})");
  ASSERT_TRUE(resolve(config));
  for (std::size_t size = 0; size < config.size(); ++size) {
    malformed(std::string_view(config).substr(0, size), {"JSON"});
  }
}

TEST(ResolveJson, AlmostJsonIsRefused) {
  malformed(llama_with("") + "x", {"JSON", "byte"});
  malformed(llama_with("") + llama_with(""), {"JSON", "byte"});
  malformed(R"({"model_type": "llama", "head_dim": 64,})", {"JSON", "byte"});
  malformed(R"({'model_type': 'llama'})", {"JSON", "byte"});
  malformed(R"({"model_type": "llama", /* Llama */ "head_dim": 64})", {"JSON", "byte"});
  malformed("{\"model_type\": \"ll\xFF\xFE\"}", {"JSON", "byte"});
  malformed("{\"model_type\": \"\xC0\xAFllama\"}", {"JSON", "byte"});
  malformed(llama_with(R"("other": "\ud834")"), {"JSON", "byte"});
  malformed("\xF8\xFD", {"error at byte 1", "'?'"});  // messages are UTF-8
  malformed("\xF8.json", {"a path (\\xf8.json): load_model()"});
}

// Numbers that JSON forbids or that a double cannot hold.
TEST(ResolveJson, InvalidNumbersAreRefused) {
  for (const std::string_view number :
       {"1e400", "-1e400", "0x10", "nan", "inf", "-NaN", "NaNx", "+Infinity", "Infinity1",
        "infinity", "- Infinity", "064", "+64"}) {
    malformed(llama_with(member("rope_theta", number)),
              {"valid JSON with numbers that a double holds", "byte"});
  }
}

// Python writes NaN and Infinity, mostly for keys that are not read, such as Mamba-2's
// time_step_limit.
TEST(ResolveJson, UnreadNonFiniteNumbersAreAccepted) {
  for (const std::string_view number : {"NaN", "Infinity", "-Infinity"}) {
    EXPECT_TRUE(resolve(llama_with(member("time_step_limit", number)))) << number;
    const std::string list = "[0.0, " + std::string(number) + " , " + std::string(number) + "]";
    EXPECT_TRUE(resolve(llama_with(member("other", list)))) << number;
    const std::string nested = "{\"NaN\": [" + std::string(number) + "]}";
    EXPECT_TRUE(resolve(llama_with(member("other", nested)))) << number;
  }
}

TEST(ResolveJson, NonFiniteNumbersOfKnownKeysAreRefused) {
  for (const std::string_view number : {"NaN", "Infinity", "-Infinity"}) {
    const std::string got = "got " + std::string(number);
    malformed(llama_with(member("rope_theta", number)), {"rope_theta must be a number", got});
    malformed(llama_with(member("head_dim", number)), {"head_dim must be an integer", got});
    malformed(std::string(number), {"must be a JSON object", got});
  }
  malformed(llama_with(R"("rope_scaling": {"type": "linear", "factor": NaN})"),
            {"rope_scaling.factor must be a number, got NaN"});
}

// NaN and Infinity are allowed only as values and in strings. They do not shift the byte that an
// error names.
TEST(ResolveJson, MisplacedNonFiniteNumbersAreRefused) {
  const std::string config =
      R"({"model_type": "llama", "NaN": "NaN, Infinity", "a": "\"NaN", "b": NaN, "head_dim": 8})";
  EXPECT_EQ(test::resolved_rotary(config).head_dim, 8);
  for (const std::string_view text :
       {"{NaN: 1}", "{\"a\": 1, NaN: 2}", "[1 NaN]", "{\"a\": 1, NaN}", "NaN NaN", "[NaN"}) {
    malformed(text, {"JSON", "byte"});
  }
  malformed(R"({"a": -Infinity, "b" 1})", {"byte 22"});
  malformed(R"({"a": 111111111, "b" 1})", {"byte 22"});
  malformed(R"({"a": NaN, "a": NaN})", {"'a' twice"});
}

TEST(ResolveJson, HugeNumbersOfKnownKeysAreRefused) {
  for (const std::string_view number : {"99999999999999999999999999", "-99999999999999999999999999",
                                        "18446744073709551615", "1e300"}) {
    malformed(llama_with(member("head_dim", number)), {"head_dim"});
  }
  for (const std::string_view number :
       {"9007199254740993", "9223372036854775808", "-9223372036854775808"}) {
    malformed(llama_with(member("head_dim", number)), {"head_dim", "got", number});
  }
  EXPECT_TRUE(resolve(llama_with(R"("vocab_size": 99999999999999999999999999)")));
}

TEST(ResolveJson, DuplicateKeysAreRefused) {
  malformed(llama_with(R"("rope_theta": 1e4, "rope_theta": 1e6)"),
            {"not repeat a key", "rope_theta", "twice"});
  malformed(llama_with(R"("rope_theta": 1e4, "rope\u005ftheta": 1e6)"), {"rope_theta", "twice"});
  malformed(llama_with(R"("rope_scaling": {"type": "linear", "factor": 2, "factor": 4})"),
            {"factor", "twice"});
  malformed(llama_with(R"("other": [{"a": {"b": 1, "b": 1}}])"), {"b", "twice"});
  EXPECT_TRUE(resolve(llama_with(R"("other": [{"a": 1}, {"a": 1}])")));
}

TEST(ResolveJson, MoreThan64LevelsAreRefused) {
  EXPECT_TRUE(resolve(nested(63)));  // the object itself is the first level
  malformed(nested(64), {"not nest deeper than 64 levels"});
  malformed(nested(1'000'000), {"64"});
  malformed(std::string(1'000'000, '['), {"64"});
  malformed(std::string(1'000'000, '{'), {"JSON"});
  std::string objects;
  for (int i = 0; i < 65; ++i) objects += R"({"a":)";
  malformed(objects, {"64"});
}

TEST(ResolveJson, MessagesStayShort) {
  const std::string long_text(100'000, 'a');
  std::string twice = member(long_text, "1");
  twice.append(", ").append(member(long_text, "2"));
  const std::string type = json_object(member("rope_type", json_text(long_text)));
  for (const std::string& config :
       {llama_with(member("rope_theta", json_text(long_text))),
        llama_with(member("rope_scaling", type)),
        llama_with(member(std::string("rope_").append(long_text), "1")),
        llama_with(member("rope_scaling", json_object(member(long_text, "1")))), llama_with(twice),
        json_object(member("model_type", json_text(long_text)))}) {
    const auto result = resolve(config);
    ASSERT_FALSE(result);
    EXPECT_LE(result.error().message.size(), 1000U);
  }
}

// Changes, removes or repeats bytes at random. Any result is right, but a crash is not.
TEST(ResolveJson, DamagedTextNeverCrashes) {
  test::Random random(37);
  const std::string config = llama_with(
      R"("rope_scaling": {"rope_type": "yarn", "factor": 2.0, "mscale": 1, "truncate": false,
         "original_max_position_embeddings": 2048}, "layer_types": ["a", "b"])");
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = config;
    for (std::int64_t damages = random.integer(1, 3); damages > 0; --damages) {
      const auto at = static_cast<std::size_t>(
          random.integer(0, static_cast<std::int64_t>(damaged.size()) - 1));
      switch (random.integer(0, 2)) {
        case 0:
          damaged[at] = static_cast<char>(random.integer(0, 255));
          break;
        case 1:
          damaged.erase(at, static_cast<std::size_t>(random.integer(1, 8)));
          break;
        default:
          damaged.insert(at, damaged.substr(at, static_cast<std::size_t>(random.integer(1, 8))));
          break;
      }
      if (damaged.empty()) damaged.push_back('{');
    }
    const auto result = resolve(damaged);
    if (!result) {
      EXPECT_FALSE(result.error().message.empty());
    }
  }
}

// Configs of two mebibytes in shapes that invite quadratic work. Nothing is timed: quadratic work
// would take hours here.

using test::not_supported;

constexpr std::size_t large = std::size_t{2} << 20;

// "item(0), item(1), …" until the text is large.
std::string many(const std::function<std::string(int)>& item) {
  std::string text = item(0);
  for (int i = 1; text.size() < large; ++i) text.append(", ").append(item(i));
  return text;
}

std::string numbered(int i) { return member("k" + std::to_string(i), "1"); }

TEST(ResolveLarge, ManyKeysAreAccepted) {
  EXPECT_TRUE(resolve(llama_with(many(numbered))));
  EXPECT_TRUE(
      resolve(llama_with(many([](int i) { return member("rope_" + std::to_string(i), "null"); }))));
  const std::string beginning(1000, 'k');
  EXPECT_TRUE(
      resolve(llama_with(many([&](int i) { return member(beginning + std::to_string(i), "1"); }))));
}

TEST(ResolveLarge, ManyContainersAreAccepted) {
  EXPECT_TRUE(resolve(llama_with(member("other", "[" + many([](int) { return "{}"; }) + "]"))));
  const std::string deep = std::string(60, '[') + std::string(60, ']');
  EXPECT_TRUE(resolve(
      llama_with(member("other", "[" + many([&](int) { return std::string(deep); }) + "]"))));
}

TEST(ResolveLarge, ManyUnknownKeysOfARuleAreRefused) {
  const std::string rule = R"("rope_type": "linear", "factor": 2, )" + many(numbered);
  not_supported(llama_with(member("rope_scaling", "{" + rule + "}")),
                {"rope_scaling.k", "not a key of rope_type 'linear'"});
}

TEST(ResolveLarge, ManyLayerTypesAreRefused) {
  const std::string names = many([](int i) { return json_text(std::to_string(i)); });
  const std::string ropes = many([](int i) { return member(std::to_string(i), "{}"); });
  std::string config = R"({"model_type": "llama", "head_dim": 64, )";
  config.append(member("layer_types", "[" + names + "]")).append(", ");
  malformed(config + member("rope_parameters", "{" + ropes + "}") + "}",
            {"at most 16 layer types"});
  malformed(config + member("rope_parameters", R"({"0": {}})") + "}",
            {"must be given, because layer_types names it"});
}

TEST(ResolveLarge, LongUnreadKeysAreAcceptedAndLongValuesRefused) {
  std::string almost_rope;
  while (almost_rope.size() < large) almost_rope += "rop_";
  EXPECT_TRUE(resolve(llama_with(member(almost_rope, "1"))));
  malformed(llama_with(member("rope_theta", json_text(almost_rope))), {"a number"});
  malformed(llama_with(member("rope_theta", std::string(large, '1'))), {"a double"});
  not_supported(llama_with(member("rope_scaling", "{" + member(almost_rope, "1") + "}")),
                {"rop_rop_"});
}

// A short config must not ask for unbounded sizes.
TEST(ResolveLarge, HeadsAbove65536FeaturesAreRefused) {
  EXPECT_TRUE(resolve(R"({"model_type": "llama", "head_dim": 65536})"));
  malformed(R"({"model_type": "llama", "head_dim": 65538})",
            {"head_dim must be in 2..65536", "got 65538"});
}

}  // namespace
}  // namespace rotary
