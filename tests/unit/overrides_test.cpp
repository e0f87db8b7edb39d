// SPDX-License-Identifier: Apache-2.0
// Overrides set keys of a config before it is read.
#include <gtest/gtest.h>

#include "support/refusals.hpp"
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

TEST(Overrides, ReplaceAndAddKeys) {
  const RotarySpec spec =
      resolved_with({{"rope_theta", "5e5"}, {"rope_scaling.factor", "8"}, {"head_dim", "32"}});
  EXPECT_EQ(spec.base.get(), 500000);
  EXPECT_EQ(spec.head_dim, 32);
  EXPECT_EQ(spec.scaling, Scaling(LinearScaling{.factor = 8}));
}

TEST(Overrides, NullRemovesAKey) {
  EXPECT_EQ(resolved_with({{"rope_scaling", "null"}}).scaling, Scaling(NoScaling{}));
}

TEST(Overrides, CreateMissingObjects) {
  const auto model = test::resolved(
      llama_with(""),
      {.overrides = {{"rope_scaling.rope_type", "linear"}, {"rope_scaling.factor", "4"}}});
  EXPECT_EQ(model.rotary.at(0).spec.scaling, Scaling(LinearScaling{.factor = 4}));
}

TEST(Overrides, TheLastOverrideWins) {
  EXPECT_EQ(resolved_with({{"rope_theta", "3"}, {"rope_theta", "7"}}).base.get(), 7);
}

TEST(Overrides, TextThatIsNotJsonIsAString) {
  test::refused(resolve(llama_with(""), {.overrides = {{"rope_theta", "1e6x"}}}),
                {"rope_theta must be a number", "1e6x"}, ErrorCode::malformed_input);
}

TEST(Overrides, InvalidKeysAreRefused) {
  for (const char* const key : {"", ".a", "a.", "a..b"}) {
    EXPECT_TRUE(fails(resolve(llama_with(""), {.overrides = {{key, "1"}}}),
                      ErrorCode::invalid_argument, {"NAME or OBJECT.NAME"}))
        << key;
  }
  test::refused(resolve(llama_with(""), {.overrides = {{"hidden_size.x", "1"}}}),
                {"hidden_size must be an object", "128"});
}

Result<ModelSpec> with(std::string_view config, ConfigOverride change) {
  return resolve(config, {.overrides = {std::move(change)}});
}

// An override of an unread key would silently change nothing.
TEST(Overrides, UnreadKeysAreRefused) {
  test::refused(with(llama_with(""), {"layer_norm_eps", "1"}),
                {"one that is read for this model", "got layer_norm_eps"});
  test::refused(with(llama_with(""), {"max_position_embedings", "1"}),
                {"did you mean max_position_embeddings?"});
  // Llama's class divides hidden_size by heads and reads no rotary_dim.
  test::refused(with(llama_with(""), {"rotary_dim", "16"}), {"got rotary_dim"});
  test::refused(with(test::model_with("gptj"), {"rope_scaling.factor", "2"}),
                {"got rope_scaling.factor"});
  for (const std::string_view family : {"llama", "deepseek_v3"}) {
    const std::string scaled = test::model_with(family, R"(
        "rope_scaling": {"rope_type": "linear", "factor": 2})");
    test::refused(with(scaled, {"factor", "4"}), {"got factor; did you mean rope_scaling.factor?"});
    test::refused(with(test::model_with(family), {"factor", "4"}), {"got factor"});
  }
}

TEST(Overrides, RefusalsProposeTheLanguageModelsKey) {
  const std::string config =
      R"({"model_type": "llava", "text_config": {"model_type": "llama"}, "image_seq_length": 9})";
  test::refused(with(config, {"rope_theta", "5e5"}), {"did you mean text_config.rope_theta?"});
  test::refused(with(config, {"image_seq_length", "5"}), {"got image_seq_length"});
  const auto model = with(config, {"text_config.rope_theta", "5e5"});
  EXPECT_EQ(test::value_of(model).rotary.at(0).spec.base.get(), 5e5);
  EXPECT_TRUE(with(config, {"text_config", R"({"hidden_size": 64, "num_attention_heads": 1})"}));
}

TEST(Overrides, KeysReadUnderAnotherPathAreAccepted) {
  // Gemma 3's rope_scaling moves to the full-attention layers, so its path changes.
  const std::string gemma = test::model_with("gemma3_text", R"("rope_scaling": {
      "rope_type": "linear", "factor": 8})");
  const auto model = with(gemma, {"rope_scaling.factor", "4"});
  EXPECT_EQ(test::rotary_for(test::value_of(model), "full_attention").spec.scaling,
            Scaling(LinearScaling{.factor = 4}));
  EXPECT_TRUE(with(gemma, {"rope_local_base_freq", "5e4"}));
  EXPECT_TRUE(with(test::model_with("phi"), {"flash_rotary", "true"}));
  EXPECT_TRUE(with(test::model_with("deepseek_v3"), {"qk_rope_head_dim", "32"}));
  EXPECT_TRUE(with(test::model_with("dbrx", R"("attn_config": {"rope_theta": 5e5})"),
                   {"attn_config.rope_theta", "1e6"}));
}

// A text_config that only the override creates is not a language model's config.
TEST(Overrides, RefusalsForAPlainModelProposeItsOwnKey) {
  test::refused(with(llama_with(R"("rope_scaling": {"rope_type": "linear", "factor": 2})"),
                     {"text_config.rope_theta", "5e6"}),
                {"got text_config.rope_theta; did you mean rope_theta?"});
}

TEST(Overrides, UnreadKeysMayBeRemoved) {
  EXPECT_TRUE(with(llama_with(""), {"no_such_key", "null"}));
  EXPECT_TRUE(with(llama_with(R"("use_ropes": 1)"), {"use_ropes", "null"}));
}

TEST(Overrides, ApplyToAParamsJson) {
  const std::string config = R"({"dim": 64, "n_heads": 1, "n_layers": 2, "rope_theta": 5e5})";
  EXPECT_TRUE(with(config, {"rope_theta", "1e6"}));
  test::refused(with(config, {"norm_eps", "1"}), {"got norm_eps"});
}

TEST(Overrides, TooDeepKeysAreRefused) {
  std::string key = "rope_scaling";
  for (int level = 0; level < 60000; ++level) key += ".a";
  test::refused(resolve(llama_with(""), {.overrides = {{key, "1"}}}),
                {"at most 30 objects", "60000"});
}

TEST(Overrides, DoNotHideARepeatedKey) {
  test::refused(resolve(R"({"a": 1, "a": 2})", {.overrides = {{"a", "3"}}}), {"'a'"},
                ErrorCode::malformed_input);
}

ConfigOverride renamed(std::string_view key, std::string_view from) {
  return {.key = std::string(key), .value = {}, .from = std::string(from)};
}

// An unknown model with its own key for each size.
constexpr std::string_view own_names = R"({"model_type": "frontier", "width": 128, "n_heads": 2,
    "depth": 3, "span": 4096, "inner": {"theta": 5e5}})";

TEST(Overrides, ARenamedKeyTakesTheValueOfTheModelsOwnKey) {
  const ModelSpec model = test::resolved(
      own_names,
      {.pairing = Pairing::half,
       .overrides = {renamed("hidden_size", "width"), renamed("num_attention_heads", "n_heads"),
                     renamed("num_hidden_layers", "depth"),
                     renamed("max_position_embeddings", "span"),
                     renamed("rope_theta", "inner.theta")}});
  EXPECT_EQ(model.rotary.at(0).spec.head_dim, 64);
  EXPECT_EQ(model.rotary.at(0).spec.base.get(), 5e5);
  EXPECT_EQ(model.rotary.at(0).trained_context_tokens, 4096);
  EXPECT_EQ(model.layers.size(), 3U);
}

TEST(Overrides, ARenamedKeyMustBeReadAndHaveOneValue) {
  const auto renaming = [](std::string_view key, std::string_view from) {
    return with(llama_with(R"("rope_base": 7, "rope_theta": 8)"), renamed(key, from));
  };
  test::refused(
      renaming("rope_theta", "rope_bas"),
      {"stands for rope_theta must be in the config, got rope_bas; did you mean rope_base?"});
  test::refused(renaming("rope_theta", "rope_base"),
                {"rope_base cannot stand for rope_theta, because the config has both"});
  test::refused(renaming("layer_norm_eps", "rope_base"),
                {"one that is read for this model", "got layer_norm_eps"});
  test::refused(renaming("head_dim", "hidden_size.x"), {"got hidden_size.x"});
}

TEST(Overrides, RefusalsProposeTheOptionThatHelps) {
  const ResolveOptions half{.pairing = Pairing::half};
  test::refused(resolve(R"({"model_type": "new", "d_model": 128, "n_head": 2})", half),
                {"--key hidden_size=d_model --key num_attention_heads=n_head"},
                ErrorCode::malformed_input);
  test::refused(
      resolve(R"({"model_type": "new", "text_config": {"head_dim": 64, "rope_base": 5}})", half),
      {"text_config.rope_base", "--key rope_theta=text_config.rope_base"}, ErrorCode::unsupported);
  test::refused(resolve(R"({"model_type": "new", "head_dim": 64, "rope_theta": 5, "n_ctx": 9,
                            "n_layer": 3})",
                        half),
                {"--key num_hidden_layers=n_layer"}, ErrorCode::unsupported);
  test::refused(resolve(R"({"model_type": "new", "head_dim": 64, "rope_twist": 5})", half),
                {"rope_twist is not understood", "--set rope_twist=null"}, ErrorCode::unsupported);
}

}  // namespace
}  // namespace rotary
