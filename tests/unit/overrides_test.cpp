// SPDX-License-Identifier: Apache-2.0
// Keys of a config that are set before it is read.
#include <gtest/gtest.h>

#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::fails;
using test::llama_with;

RotarySpec resolved_with(std::vector<ConfigOverride> overrides) {
  const std::string config = llama_with(R"("rope_scaling": {"type": "linear", "factor": 2})");
  const ModelSpec model = test::resolved(config, {.overrides = std::move(overrides)});
  return model.rotary.at(0).spec;
}

TEST(Overrides, ReplaceAndAdd) {
  const RotarySpec spec =
      resolved_with({{"rope_theta", "5e5"}, {"rope_scaling.factor", "8"}, {"head_dim", "32"}});
  EXPECT_EQ(spec.base.get(), 500000);
  EXPECT_EQ(spec.head_dim, 32);
  EXPECT_EQ(spec.scaling, Scaling(LinearScaling{.factor = 8}));
}

TEST(Overrides, NullRemoves) {
  EXPECT_EQ(resolved_with({{"rope_scaling", "null"}}).scaling, Scaling(NoScaling{}));
}

TEST(Overrides, MakeTheObjectsOnTheWay) {
  const auto model = test::resolved(
      llama_with(""),
      {.overrides = {{"rope_scaling.rope_type", "linear"}, {"rope_scaling.factor", "4"}}});
  EXPECT_EQ(model.rotary.at(0).spec.scaling, Scaling(LinearScaling{.factor = 4}));
}

TEST(Overrides, TheLastOneWins) {
  EXPECT_EQ(resolved_with({{"rope_theta", "3"}, {"rope_theta", "7"}}).base.get(), 7);
}

TEST(Overrides, TextThatIsNoJsonIsAString) {
  EXPECT_TRUE(fails(resolve(llama_with(""), {.overrides = {{"rope_theta", "1e6x"}}}),
                    ErrorCode::malformed_input, {"rope_theta must be a number", "1e6x"}));
}

TEST(Overrides, RefuseKeysThatAreNone) {
  for (const char* const key : {"", ".a", "a.", "a..b"}) {
    EXPECT_TRUE(fails(resolve(llama_with(""), {.overrides = {{key, "1"}}}),
                      ErrorCode::invalid_argument, {"NAME or OBJECT.NAME"}))
        << key;
  }
  EXPECT_TRUE(fails(resolve(llama_with(""), {.overrides = {{"hidden_size.x", "1"}}}),
                    ErrorCode::invalid_argument, {"hidden_size must be an object", "128"}));
}

TEST(Overrides, AreNoDeeperThanAConfig) {
  std::string key = "rope_scaling";
  for (int level = 0; level < 60000; ++level) key += ".a";
  EXPECT_TRUE(fails(resolve(llama_with(""), {.overrides = {{key, "1"}}}),
                    ErrorCode::invalid_argument, {"at most 30 objects", "60000"}));
}

TEST(Overrides, MayNotHideARepeatedKey) {
  EXPECT_TRUE(fails(resolve(R"({"a": 1, "a": 2})", {.overrides = {{"a", "3"}}}),
                    ErrorCode::malformed_input, {"'a'"}));
}

}  // namespace
}  // namespace rotary
