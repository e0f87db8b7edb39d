// SPDX-License-Identifier: Apache-2.0
// resolve() refuses and names everything that it does not understand. A guess might be wrong.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/resolving.hpp"

namespace rotary {
namespace {

using test::json_text;
using test::llama_with;
using test::malformed;
using test::member;
using test::not_supported;

std::string scaled(std::string_view members) {
  return llama_with(R"("rope_scaling": {)" + std::string(members) + "}");
}

std::string yarn_with(std::string_view key, std::string_view value) {
  return scaled(R"("type": "yarn", "factor": 2, "original_max_position_embeddings": 1024, )" +
                member(key, value));
}

TEST(ResolveRefusals, AnUnknownRopeTypeIsNamed) {
  for (const std::string_view type : {"mystery", "mrope", "ntk", "Linear", ""}) {
    not_supported(scaled(member("rope_type", json_text(type)) + R"(, "factor": 2)"),
                  {"rope_type", "linear", "llama3", "yarn", std::string(type)});
  }
}

TEST(ResolveRefusals, AnUnknownKeyOfARuleIsNamed) {
  not_supported(scaled(R"("rope_type": "linear", "factor": 2, "mystery": 1)"),
                {"rope_scaling.mystery", "linear", "factor"});
  not_supported(scaled(R"("rope_type": "linear", "factor": 2, "beta_fast": 32)"),
                {"beta_fast is not a key of rope_type 'linear'"});
  not_supported(scaled(R"("rope_type": "default", "factor": 2)"),
                {"rope_scaling.factor", "default"});
  not_supported(scaled(R"("factor": 2)"), {"rope_scaling.factor", "rope_type is absent"});
  not_supported(scaled(R"("rope_type": "default", "mrope_section": [16, 24, 24])"),
                {"mrope_section"});
}

// The first fault is named, in this order: rope keys, head sizes, layers, lengths, the base, the
// fraction, the dictionary, layers that rotate.
TEST(ResolveRefusals, NameTheFirstFault) {
  const std::vector<std::pair<std::string, std::string>> in_order = {
      {R"("use_ropes": 1)", "use_ropes is not understood"},
      {R"("head_dim": "x")", "head_dim must be an integer"},
      {R"("num_hidden_layers": 0)", "num_hidden_layers must be in 1.."},
      {R"("max_position_embeddings": 0)", "max_position_embeddings must be >= 1"},
      {R"("rope_theta": "x")", "rope_theta must be a number"},
      {R"("partial_rotary_factor": [])", "partial_rotary_factor must be a number"},
      {R"("rope_scaling": {"rope_type": "linear"})", "rope_scaling.factor must be given"},
      {R"("no_rope_layers": [2])", "no_rope_layers must hold 0 and 1"}};
  std::string config = R"("hidden_size": 64, "num_attention_heads": 1,
                          "layer_types": ["full_attention"], "model_type": "smollm3")";
  for (auto fault = in_order.rbegin(); fault != in_order.rend(); ++fault) {
    config.append(", ").append(fault->first);
    const auto got = resolve(test::json_object(config));
    ASSERT_FALSE(got) << fault->second;
    EXPECT_NE(got.error().message.find(fault->second), std::string::npos) << got.error().message;
  }
}

// An unknown key in a dictionary may be a misspelt required key, so it is named before a missing
// key. A fault outside the dictionary is named first.
TEST(ResolveRefusals, NameTheMisspeltKeyAndNotTheMissingOne) {
  const std::string dictionary = R"("rope_scaling": {"rope_type": "linear", "facter": 2})";
  not_supported(llama_with(dictionary), {"rope_scaling.facter", "did you mean factor"});
  malformed(llama_with(R"("rope_theta": "x", )" + dictionary), {"rope_theta must be"});
}

TEST(ResolveRefusals, AnUnknownRotaryKeyIsNamed) {
  for (const std::string_view key :
       {"rope_local_base_freq", "no_rope_layers", "use_rope", "rotary_emb_fraction", "ROPE_ratio",
        "rope_interleaved", "layer_rope_theta"}) {
    not_supported(llama_with(member(key, "[1]")), {std::string(key), "[1]"});
  }
  EXPECT_TRUE(resolve(llama_with(R"("use_rope": null)")));
  EXPECT_TRUE(resolve(llama_with(R"("properties": 1, "europe": 2)")));  // "rope" is not a word here
  // Switches in published configs of GPT-J and Qwen2.5. One value of each changes nothing, and the
  // other value is refused.
  EXPECT_TRUE(resolve(llama_with(R"("rotary": true, "use_mrope": false)")));
  EXPECT_TRUE(resolve(llama_with(R"("rope_interleaved": false)")));
  not_supported(llama_with(R"("rope_interleaved": true)"), {"rope_interleaved"});
  not_supported(llama_with(R"("rotary": false)"), {"rotary", "false"});
  not_supported(llama_with(R"("use_mrope": true)"), {"use_mrope", "true"});
}

// The class of each family does not read the key that is listed with it.
TEST(ResolveRefusals, KeysOfOtherFamiliesAreIgnoredWithAWarning) {
  for (const auto& [family, key] :
       {std::pair<std::string_view, std::string_view>{"llama", "rotary_pct"},
        {"llama", "rotary_emb_base"},
        {"llama", "rotary_dim"},
        {"gpt_neox", "rope_theta"},
        {"gpt_neox", "partial_rotary_factor"},
        {"gptj", "rope_theta"}}) {
    SCOPED_TRACE(key);
    const ModelSpec model = test::resolved(test::model_with(family, member(key, "0.5")));
    EXPECT_TRUE(test::warns(model, key));
    const RotarySpec plain = test::resolved_rotary(test::model_with(family));
    EXPECT_EQ(model.rotary.front().spec.rotary_dim, plain.rotary_dim);
    EXPECT_EQ(model.rotary.front().spec.base.get(), 10000);
  }
}

TEST(ResolveRefusals, AMissingScalingValueIsNamed) {
  malformed(scaled(R"("type": "linear")"), {"rope_scaling.factor must be given", "got none"});
  malformed(scaled(R"("type": "linear", "factor": null)"), {"factor must be given"});
  malformed(scaled(R"("type": "yarn", "original_max_position_embeddings": 9)"),
            {"factor must be given"});
  for (const std::string_view missing : {"factor", "low_freq_factor", "high_freq_factor"}) {
    std::string members = R"("rope_type": "llama3", "original_max_position_embeddings": 1024)";
    for (const std::string_view key : {"factor", "low_freq_factor", "high_freq_factor"}) {
      if (key != missing) members.append(", ").append(member(key, "4"));
    }
    malformed(scaled(members), {missing, "must be given"});
  }
  malformed(R"({"model_type": "llama", "head_dim": 64, "rope_scaling":
                           {"type": "yarn", "factor": 2}})",
            {"original_max_position_embeddings must be given", "got none"});
}

TEST(ResolveRefusals, AMissingOrInvalidHeadSizeIsNamed) {
  for (const std::string_view members : {"", R"(, "head_dim": null)"}) {
    malformed(R"({"model_type": "llama")" + std::string(members) + "}",
              {"head_dim", "hidden_size", "got neither"});
  }
  malformed(R"({"model_type": "llama", "hidden_size": 128})", {"head_dim"});
  malformed(R"({"model_type": "gptj", "n_embd": 128})", {"n_head"});
  malformed(R"({"model_type": "llama", "hidden_size": 128, "num_attention_heads": 0})",
            {"num_attention_heads", "must be >= 1, got 0"});
  malformed(R"({"model_type": "llama", "hidden_size": -128, "num_attention_heads": -2})",
            {"num_attention_heads must be >= 1", "got -2"});
  malformed(R"({"model_type": "llama", "hidden_size": 128, "num_attention_heads": 3})",
            {"multiple", "got 128 and 3"});
}

TEST(ResolveRefusals, AMistypedValueIsNamed) {
  malformed(llama_with(R"("rope_theta": "10000")"), {"rope_theta must be a number", R"("10000")"});
  malformed(llama_with(R"("rope_theta": true)"), {"rope_theta must be a number", "got true"});
  for (const std::string_view value : {"64.5", R"("64")", "true", "[64]"}) {
    malformed(llama_with(member("head_dim", value)), {"head_dim must be an integer", value});
  }
  malformed(llama_with(R"("rope_scaling": "linear")"),
            {"rope_scaling must be an object", R"("linear")"});
  malformed(llama_with(R"("rope_scaling": [])"), {"rope_scaling must be an object"});
  malformed(scaled(R"("rope_type": 3)"), {"rope_type must be a string", "3"});
  for (const std::string_view value : {R"("2")", "[2]", "true"}) {
    malformed(scaled(R"("type": "linear", )" + member("factor", value)),
              {"rope_scaling.factor must be a number", value});
  }
  for (const std::string_view value : {"0", "null"}) {
    malformed(yarn_with("truncate", value), {"truncate must be true or false", value});
  }
  malformed(scaled(R"("type": "yarn", "factor": 2, "original_max_position_embeddings": "9")"),
            {"original_max_position_embeddings", R"("9")"});
  malformed(R"({"model_type": 7, "head_dim": 64})", {"model_type", "string", "7"});
}

TEST(ResolveRefusals, AValueOutOfBoundsIsNamed) {
  for (const std::string_view base : {"1", "0", "-5", "0.9999999999999999"}) {
    malformed(llama_with(member("rope_theta", base)), {"rope_theta", "finite and > 1", base});
  }
  for (const std::string_view head_dim : {"0", "1", "-64"}) {
    malformed(llama_with(member("head_dim", head_dim)), {"head_dim must be in 2..", head_dim});
  }
  malformed(llama_with(R"("head_dim": 63)"), {"rotary_dim must be even", "got 63"});
  for (const std::string_view count : {"0", "-1", "1000000000000", "9007199254740993", "1e300"}) {
    malformed(R"({"model_type": "llama", "head_dim": 64, "num_hidden_layers": )" +
                  std::string(count) + "}",
              {"num_hidden_layers", "got"});
  }
  malformed(R"({"model_type": "gptj", "n_embd": 128, "n_head": 2, "rotary_dim": 128})",
            {"rotary_dim", "64", "got 128"});
  for (const std::string_view fraction : {"0", "-0.5", "1.5"}) {
    malformed(R"({"model_type": "gpt_neox", "head_dim": 64, "rotary_pct": )" +
                  std::string(fraction) + "}",
              {"rotary_pct must be in (0, 1]", "got " + std::string(fraction)});
  }
  malformed(R"({"model_type": "gpt_neox", "head_dim": 96, "rotary_pct": 0.31})",
            {"rotary_pct", "even rotary_dim", "got 0.31", "29"});
  malformed(R"({"model_type": "gptj", "n_embd": 256, "n_head": 2, "rotary_dim": 63})",
            {"rotary_dim must be even", "got 63"});
}

TEST(ResolveRefusals, AScalingValueOutOfBoundsIsNamed) {
  for (const std::string_view factor : {"0", "-2"}) {
    malformed(scaled(R"("type": "linear", )" + member("factor", factor)),
              {"factor", "> 0", factor});
  }
  for (const std::string_view original : {"0", "-1024"}) {
    malformed(scaled(R"("type": "yarn", "factor": 2, )" +
                     member("original_max_position_embeddings", original)),
              {"original_max_position_embeddings", "> 0", original});
  }
  malformed(yarn_with("beta_slow", "-1"), {"beta_slow", "> 0", "got -1"});
  malformed(yarn_with("beta_slow", "64"), {"beta_fast must be >= beta_slow", "32 and 64"});
  malformed(yarn_with("attention_factor", "-1"), {"attention_factor", "> 0", "got -1"});
  malformed(yarn_with("attention_factor", "1e-300"), {"attention_factor", "2^-20", "got 1e-300"});
  malformed(scaled(R"("rope_type": "llama3", "factor": 8, "low_freq_factor": 4,
                      "high_freq_factor": 1, "original_max_position_embeddings": 512)"),
            {"high_freq_factor must be >= low_freq_factor", "1 and 4"});
}

TEST(ResolveRefusals, TypeAndRopeTypeMustAgree) {
  malformed(scaled(R"("type": "linear", "rope_type": "yarn", "factor": 2)"),
            {"rope_type", "type", "linear", "yarn"});
}

}  // namespace
}  // namespace rotary
