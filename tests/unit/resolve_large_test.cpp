// SPDX-License-Identifier: Apache-2.0
// Configs of two mebibytes in the shapes that invite quadratic work. Nothing is timed: work that
// grew with the square of the size would take hours here, and the answer would not come.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::json_text;
using test::llama_with;
using test::malformed;
using test::member;
using test::not_supported;

constexpr std::size_t large = std::size_t{2} << 20;

// "item(0), item(1), …" until it is large.
std::string many(const std::function<std::string(int)>& item) {
  std::string text = item(0);
  for (int i = 1; text.size() < large; ++i) text.append(", ").append(item(i));
  return text;
}

std::string numbered(int i) { return member("k" + std::to_string(i), "1"); }

TEST(ResolveLarge, ManyKeys) {
  EXPECT_TRUE(resolve(llama_with(many(numbered))));
  EXPECT_TRUE(
      resolve(llama_with(many([](int i) { return member("rope_" + std::to_string(i), "null"); }))));
  const std::string beginning(1000, 'k');
  EXPECT_TRUE(
      resolve(llama_with(many([&](int i) { return member(beginning + std::to_string(i), "1"); }))));
}

TEST(ResolveLarge, ManyContainers) {
  EXPECT_TRUE(resolve(llama_with(member("other", "[" + many([](int) { return "{}"; }) + "]"))));
  const std::string deep = std::string(60, '[') + std::string(60, ']');
  EXPECT_TRUE(resolve(
      llama_with(member("other", "[" + many([&](int) { return std::string(deep); }) + "]"))));
}

TEST(ResolveLarge, ManyUnknownKeysOfARule) {
  const std::string rule = R"("rope_type": "linear", "factor": 2, )" + many(numbered);
  not_supported(llama_with(member("rope_scaling", "{" + rule + "}")),
                {"rope_scaling.k", "not a key of rope_type 'linear'"});
}

TEST(ResolveLarge, ManyLayerTypes) {
  const std::string names = many([](int i) { return json_text(std::to_string(i)); });
  const std::string ropes = many([](int i) { return member(std::to_string(i), "{}"); });
  std::string config = R"({"model_type": "llama", "head_dim": 64, )";
  config.append(member("layer_types", "[" + names + "]")).append(", ");
  malformed(config + member("rope_parameters", "{" + ropes + "}") + "}",
            {"at most 16 layer types"});
  malformed(config + member("rope_parameters", R"({"0": {}})") + "}",
            {"must be given, because layer_types names it"});
}

TEST(ResolveLarge, LongWords) {
  std::string almost_rope;
  while (almost_rope.size() < large) almost_rope += "rop_";
  EXPECT_TRUE(resolve(llama_with(member(almost_rope, "1"))));
  malformed(llama_with(member("rope_theta", json_text(almost_rope))), {"a number"});
  malformed(llama_with(member("rope_theta", std::string(large, '1'))), {"a double"});
  not_supported(llama_with(member("rope_scaling", "{" + member(almost_rope, "1") + "}")),
                {"rop_rop_"});
}

// A short config cannot ask for unbounded sizes either.
TEST(ResolveLarge, TheLargestHead) {
  EXPECT_TRUE(resolve(R"({"model_type": "llama", "head_dim": 65536})"));
  malformed(R"({"model_type": "llama", "head_dim": 65538})",
            {"head_dim must be in 2..65536", "got 65538"});
}

}  // namespace
}  // namespace rotary
