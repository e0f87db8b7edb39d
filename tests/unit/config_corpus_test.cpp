// SPDX-License-Identifier: Apache-2.0
// Configs that are wrong in one way each, or only look wrong: fuzz/corpus/config.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "rotary/frequencies.hpp"
#include "support/corpus.hpp"
#include "support/resolving.hpp"

namespace rotary {
namespace {

constexpr auto malformed = ErrorCode::malformed_input;
constexpr auto unsupported = ErrorCode::unsupported;

TEST(ConfigCorpus, ConfigsThatMustResolveHaveFrequencies) {
  for (const test::CorpusFile& file : test::corpus_files("config", "y_")) {
    const auto model = resolve(file.bytes);
    ASSERT_TRUE(model) << file.name << ": " << model.error().message;
    ASSERT_FALSE(model->rotary.empty()) << file.name;
    for (const ModelRotary& rotary : model->rotary) {
      EXPECT_TRUE(make_frequencies(rotary.spec, rotary.trained_context_tokens.value_or(1)))
          << file.name;
    }
  }
}

TEST(ConfigCorpus, ConfigsThatMustBeRefusedAre) {
  for (const test::CorpusFile& file : test::corpus_files("config", "n_")) {
    const auto model = resolve(file.bytes);
    ASSERT_FALSE(model) << file.name;
    EXPECT_FALSE(model.error().message.empty()) << file.name;
  }
}

void expect_refusals(const std::vector<test::CorpusRefusal>& refusals) {
  test::expect_refusals(
      "config", ".json", [](const std::string& bytes) { return resolve(bytes); }, refusals);
}

TEST(ConfigCorpus, InvalidNumbersAreRefused) {
  for (const std::string_view number :
       {"1e400", "minus_1e400", "hexadecimal", "leading_zero", "plus_sign"}) {
    expect_refusals({{number, malformed, {"valid JSON with numbers that a double holds", "byte"}}});
  }
  expect_refusals({
      {"nan", malformed, {"rope_theta must be a number", "got NaN"}},
      {"infinity", malformed, {"rope_theta must be a number", "got Infinity"}},
      {"minus_infinity", malformed, {"rope_theta must be a number", "got -Infinity"}},
      {"base_one", malformed, {"rope_theta", "finite and > 1", "got 1"}},
      {"base_zero", malformed, {"rope_theta", "> 1", "got 0"}},
      {"base_negative", malformed, {"rope_theta", "> 1", "got -10000"}},
      {"base_below_1", malformed, {"rope_theta", "> 1", "got 0.9999999999999999"}},
      {"base_string", malformed, {"rope_theta must be a number", "got \"10000\""}},
      {"base_true", malformed, {"rope_theta must be a number", "got true"}},
  });
}

TEST(ConfigCorpus, InvalidHeadSizesAreRefused) {
  expect_refusals({
      {"head_dim_negative", malformed, {"head_dim", "got -64"}},
      {"head_dim_zero", malformed, {"head_dim", "got 0"}},
      {"head_dim_one", malformed, {"head_dim", "got 1"}},
      {"head_dim_odd", malformed, {"rotary_dim must be even", "got 63"}},
      {"head_dim_too_large", malformed, {"head_dim must be in 2..65536", "got 65538"}},
      {"head_dim_fraction", malformed, {"head_dim must be an integer", "got 64.5"}},
      {"head_dim_string", malformed, {"head_dim must be an integer", "got \"64\""}},
      {"head_dim_true", malformed, {"head_dim must be an integer", "got true"}},
      {"head_dim_array", malformed, {"head_dim must be an integer", "got [64]"}},
      {"head_dim_null", malformed, {"head_dim", "must be given", "got neither"}},
      {"head_dim_beyond_2_53", malformed, {"head_dim", "below 2^53", "got 9007199254740993"}},
      {"head_dim_beyond_int64", malformed, {"head_dim", "got 9223372036854775808"}},
      {"head_dim_lowest_int64", malformed, {"head_dim", "got -9223372036854775808"}},
      {"heads_zero", malformed, {"num_attention_heads must be >= 1", "got 0"}},
      {"heads_negative", malformed, {"num_attention_heads must be >= 1", "got -2"}},
      {"heads_do_not_divide", malformed, {"multiple", "got 128 and 3"}},
      {"rotary_pct_zero", malformed, {"rotary_pct must be in (0, 1]", "got 0"}},
      {"rotary_pct_negative", malformed, {"rotary_pct must be in (0, 1]", "got -0.5"}},
      {"rotary_pct_above_1", malformed, {"rotary_pct must be in (0, 1]", "got 1.5"}},
      {"rotary_pct_gives_odd", malformed, {"rotary_pct", "even rotary_dim", "got 0.31", "29"}},
      {"rotary_dim_above_head_dim", malformed, {"rotary_dim", "2..64", "got 128"}},
      {"rotary_dim_odd", malformed, {"rotary_dim must be even", "got 63"}},
  });
}

TEST(ConfigCorpus, InvalidScalingParametersAreRefused) {
  expect_refusals({
      {"factor_zero", malformed, {"factor", "> 0", "got 0"}},
      {"factor_negative", malformed, {"factor", "> 0", "got -2"}},
      {"factor_string", malformed, {"rope_scaling.factor must be a number", "got \"2\""}},
      {"factor_array", malformed, {"rope_scaling.factor must be a number", "got [2]"}},
      {"factor_true", malformed, {"rope_scaling.factor must be a number", "got true"}},
      {"factor_null", malformed, {"rope_scaling.factor must be given", "got none"}},
      {"factor_missing", malformed, {"rope_scaling.factor must be given", "got none"}},
      {"factor_misspelt", unsupported, {"rope_scaling.factr is not a key", "mean factor?"}},
      {"factor_makes_inv_freq_huge", malformed, {"inv_freq must be in (-2^40, 2^40)", "got 1e+13"}},
      {"yarn_beta_fast_below_beta_slow", malformed, {"beta_fast must be >= beta_slow", "1 and 32"}},
      {"yarn_beta_negative", malformed, {"beta_slow", "> 0", "got -1"}},
      {"yarn_original_zero", malformed, {"original_max_position_embeddings", "> 0", "got 0"}},
      {"yarn_original_negative", malformed, {"original_max_position_embeddings", "got -1024"}},
      {"yarn_original_string", malformed, {"original_max_position_embeddings", "\"1024\""}},
      {"yarn_attention_factor_negative", malformed, {"attention_factor", "> 0", "got -1"}},
      {"yarn_attention_factor_tiny", malformed, {"attention_factor", "2^-20", "got 1e-300"}},
      {"yarn_truncate_null", malformed, {"truncate must be true or false", "got null"}},
      {"yarn_truncate_number", malformed, {"truncate must be true or false", "got 0"}},
      {"llama3_high_below_low",
       malformed,
       {"high_freq_factor must be >= low_freq_factor", "1 and"}},
      {"llama3_low_missing", malformed, {"rope_scaling.low_freq_factor must be given"}},
      {"longrope", malformed, {"short_factor must have one entry for each pair, 32; got 2"}},
      {"su_factors_of_wrong_length", malformed, {"short_factor", "32; got 1"}},
      {"rope_scaling_array", malformed, {"rope_scaling must be an object", "got []"}},
      {"rope_scaling_string", malformed, {"rope_scaling must be an object", "got \"linear\""}},
  });
}

// An unknown rule is refused by its name, and so is a rule that exists but that no config can name.
TEST(ConfigCorpus, UnknownRulesKeysAndFamiliesAreRefused) {
  expect_refusals({
      {"ntk", unsupported, {"rope_type must be one of", "ntk"}},
      {"rope_type_unknown", unsupported, {"rope_type must be one of", "mystery"}},
      {"rope_type_empty", unsupported, {"rope_type must be one of", "got \"\""}},
      {"rope_type_number", malformed, {"rope_type must be a string", "got 3"}},
      {"rope_type_and_type_differ", malformed, {"rope_type and type must agree", "linear", "yarn"}},
      {"mrope_section", unsupported, {"mrope_section is not a key of rope_type 'default'"}},
      {"key_of_another_rule", unsupported, {"beta_fast is not a key of rope_type 'linear'"}},
      {"unknown_rope_key", unsupported, {"rope_local_base_freq is not understood", "10000"}},
      {"use_mrope", unsupported, {"use_mrope is not understood", "got true"}},
      {"family_unknown", unsupported, {"model_type must be one of", "got 'mystery'", "pairing"}},
      {"family_absent", unsupported, {"model_type must be one of", "got none", "pairing"}},
      {"family_number", malformed, {"model_type must be a string", "got 7"}},
  });
}

TEST(ConfigCorpus, InvalidLayersAreRefused) {
  expect_refusals({
      {"layers_zero", malformed, {"num_hidden_layers must be in 1..100000", "got 0"}},
      {"layers_1e12", malformed, {"num_hidden_layers", "got 1000000000000"}},
      {"max_position_embeddings_zero", malformed, {"max_position_embeddings must be >= 1"}},
      {"layer_types_too_few", malformed, {"layer_types", "one entry for each layer, 2; got 1"}},
      {"layer_types_numbers", malformed, {"layer_types must be an array of strings", "got [1,2]"}},
      {"layer_types_unknown_name", malformed, {"rope_parameters.b must be one of layer_types"}},
      {"layer_types_without_parameters", malformed, {"rope_parameters.b must be given"}},
      {"layer_types_65", malformed, {"rope_parameters must have at most 16", "got 65"}},
  });
}

TEST(ConfigCorpus, InvalidJsonIsRefused) {
  for (const std::string_view text :
       {"empty", "only_spaces", "truncated", "trailing_comma", "trailing_text", "two_documents",
        "comment", "single_quotes", "invalid_utf8", "overlong_utf8", "lone_surrogate"}) {
    expect_refusals({{text, malformed, {"config must be valid JSON", "error at byte"}}});
  }
  // Bytes that are not UTF-8 are shown as valid UTF-8.
  expect_refusals({{"invalid_utf8_first_bytes", malformed, {"error at byte 1", "'?'"}}});
  expect_refusals({
      {"nul_byte", malformed, {"config must be JSON text", "NUL byte at byte"}},
      {"utf16", malformed, {"config must be JSON text", "NUL byte at byte 3"}},
      {"duplicate_key", malformed, {"not repeat a key", "rope_theta", "twice"}},
      {"duplicate_key_nested", malformed, {"not repeat a key", "factor", "twice"}},
      {"duplicate_key_escaped", malformed, {"not repeat a key", "rope_theta", "twice"}},
      {"duplicate_key_deep", malformed, {"not repeat a key", "'b' twice"}},
      {"array", malformed, {"config must be a JSON object", "got []"}},
      {"number", malformed, {"config must be a JSON object", "got 3"}},
      {"null", malformed, {"config must be a JSON object", "got null"}},
      {"string", malformed, {"config must be a JSON object", "got \"llama\""}},
      {"depth_65", malformed, {"not nest deeper than 64 levels"}},
      {"depth_2000", malformed, {"not nest deeper than 64 levels"}},
      {"depth_2000_objects", malformed, {"not nest deeper than 64 levels"}},
  });
}

}  // namespace
}  // namespace rotary
