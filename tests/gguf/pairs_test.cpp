// SPDX-License-Identifier: Apache-2.0
// Compares a model's config with its GGUF file. llama.cpp's converter made the file from a tiny
// random checkpoint, so writer and reader cannot share a mistake. Only the differences that
// docs/theory/gguf.md lists are allowed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gguf/resolving.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/gguf.hpp"
#include "rotary/model_difference.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/scaling.hpp"
#include "support/gguf_bytes.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::value_of;

// Without gpt-oss, which has its own tests.
constexpr std::string_view names[] = {
    "cohere2", "deepseek-v2", "gemma3", "glm4",  "granite",    "llama", "llama-3.1", "llama-linear",
    "mistral", "olmo2",       "phi3",   "qwen2", "qwen2-yarn", "qwen3", "smollm3"};

ModelSpec of_config(std::string_view name) {
  return value_of(resolve(test::file_named("pairs/", name, ".json")));
}

ModelSpec of_gguf(std::string_view name) {
  const std::string bytes = test::file_named("pairs/", name, ".gguf");
  return value_of(resolve_gguf(byte_source(test::as_byte_span(bytes))));
}

// The largest relative difference of two frequencies; infinite if only the first is 0.
double difference(const std::vector<double>& one, const std::vector<double>& other) {
  EXPECT_EQ(one.size(), other.size());
  double most = one.size() == other.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < one.size() && i < other.size(); ++i) {
    const double apart = std::abs(one[i] - other[i]);
    if (apart > 0) most = std::max(most, apart / std::abs(one[i]));
  }
  return most;
}

// Compares within the rounding of the file's float32 numbers.
void expect_alike(const ModelRotary& config, const ModelRotary& gguf, std::int64_t context) {
  const Frequencies one = value_of(make_frequencies(config.spec, context));
  const Frequencies other = value_of(make_frequencies(gguf.spec, context));
  EXPECT_EQ(one.window.head_dim, other.window.head_dim);
  EXPECT_EQ(one.window.rotary_dim, other.window.rotary_dim);
  EXPECT_EQ(one.window.first_feature, other.window.first_feature);
  EXPECT_LE(difference(one.inv_freq, other.inv_freq), 1e-7);
  EXPECT_NEAR(one.attention_factor, other.attention_factor, 1e-7);
  EXPECT_NEAR(config.softmax_factor, gguf.softmax_factor, 1e-7);
  EXPECT_EQ(config.nope_head_dim, gguf.nope_head_dim);
  EXPECT_EQ(config.trained_context_tokens, gguf.trained_context_tokens);
}

void expect_same_model(const ModelSpec& config, const ModelSpec& gguf) {
  ASSERT_EQ(config.layers.size(), gguf.layers.size());
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ(config.layers[i].encoding, gguf.layers[i].encoding);
    EXPECT_EQ(config.layers[i].query_temperature, gguf.layers[i].query_temperature);
    if (config.layers[i].encoding != LayerEncoding::rotary) continue;
    const ModelRotary& one = config.rotary.at(config.layers[i].rotary);
    const ModelRotary& other = gguf.rotary.at(gguf.layers[i].rotary);
    for (const std::int64_t context : {100, 100000}) expect_alike(one, other, context);
    EXPECT_EQ(one.spec.pairing.get(), gguf.gguf.value().checkpoint_pairing);
  }
  EXPECT_EQ(config.softcap, gguf.softcap);
  // The lengths in deepseek-v2's tiny config contradict its factor, so its file warns.
  for (const std::string& warning : gguf.warnings)
    EXPECT_TRUE(warning.ends_with("; the factor is used")) << warning;
}

TEST(GgufPairs, ConfigAndFileGiveTheSameModel) {
  for (const std::string_view name : names) {
    SCOPED_TRACE(name);
    expect_same_model(of_config(name), of_gguf(name));
  }
}

// No key stores gpt-oss's truncate: false, so llama.cpp rounds YaRN's ramp. Nothing else differs.
TEST(GgufPairs, GptOssHasADifferentRamp) {
  ModelSpec config = of_config("gpt-oss");
  const ModelSpec gguf = of_gguf("gpt-oss");
  const auto frequencies = [](const ModelSpec& model) {
    return value_of(make_frequencies(model.rotary.at(0).spec)).inv_freq;
  };
  EXPECT_GT(difference(frequencies(config), frequencies(gguf)), 0.2);
  auto& rule = std::get<YarnScaling>(config.rotary.at(0).spec.scaling);
  EXPECT_EQ(rule.ramp, YarnRamp::fractional);
  rule.ramp = YarnRamp::whole_pairs;
  expect_same_model(config, gguf);
  EXPECT_NE(gguf.gguf.value().unstated.front().find("truncate"), std::string::npos);
}

// Over 131072 tokens rows differ by less than row_tolerance, even with float32 parameters.
TEST(GgufPairs, ConfigAndFileCompareAsEqual) {
  for (const std::string_view name : names) {
    SCOPED_TRACE(name);
    const auto found = value_of(
        compare_models(of_config(name), of_gguf(name), {.context_tokens = std::int64_t{1} << 17}));
    EXPECT_FALSE(found.differs());
    EXPECT_FALSE(found.rotary.empty());
  }
}

// The config derives attention_factor by a formula. The file states it as a number.
TEST(GgufPairs, ComparisonShowsSettingsThatNoKeyStores) {
  const auto found = value_of(compare_models(of_config("gpt-oss"), of_gguf("gpt-oss")));
  EXPECT_TRUE(found.differs());
  EXPECT_TRUE(found.rotary.at(0).rows.first_position);
  std::vector<std::string> fields;
  for (const FieldDifference& field : found.rotary.at(0).fields)
    if (field.effect != FieldEffect::nothing) fields.push_back(field.field);
  EXPECT_EQ(fields, (std::vector<std::string>{"ramp", "attention_factor"}));
}

// Both files have permuted rows, so their pairings are compared as they are.
TEST(GgufPairs, TwoFilesCompareWithoutUndoingPermutations) {
  ModelSpec moved = of_gguf("llama");
  EXPECT_FALSE(value_of(compare_models(of_gguf("llama"), moved)).differs());
  moved.rotary.front().spec.pairing = Pairing::half;
  EXPECT_TRUE(value_of(compare_models(of_gguf("llama"), moved)).differs());
}

// If the converter permuted a checkpoint's rows, the file has another pairing.
TEST(GgufPairs, ReportPermutedRowsIfThePairingChanged) {
  for (const std::string_view name : names) {
    const ModelSpec gguf = of_gguf(name);
    const Pairing of_file = gguf.rotary.front().spec.pairing;
    const bool is_same = gguf.gguf.value().checkpoint_pairing == of_file;
    EXPECT_EQ(gguf.gguf->rows == ProjectionRows::kept, is_same) << name;
  }
}

}  // namespace
}  // namespace rotary
