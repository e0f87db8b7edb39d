// SPDX-License-Identifier: Apache-2.0
// Tests the evidence behind engine readings: the table src/model/dialects/evidence.txt.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "rotary/dialect.hpp"
#include "rotary/model_difference.hpp"
#include "support/result.hpp"
#include "support/source_path.hpp"

namespace rotary {
namespace {

constexpr std::string_view plain = R"({"model_type": "llama", "hidden_size": 128,
  "num_attention_heads": 2, "num_hidden_layers": 2, "rope_theta": 10000.0})";

DialectReading reading_in(std::string_view config, std::string_view dialect,
                          const ResolveOptions& options = {}) {
  return test::value_of(read_as(config, test::value_of(parse_dialect(dialect)), options));
}

Agreement agreement_of(std::string_view config, std::string_view one, std::string_view other) {
  return test::value_of(compare_readings(reading_in(config, one), reading_in(config, other)))
      .agreement;
}

TEST(Evidence, TheLibraryHasAsManyFamiliesAsTheTable) {
  const std::string forms =
      "plain|scaling_type|scaling_rope_type|parameters_flat|parameters_nested|both";
  const std::string cell = "((" + forms + "):(default|linear|dynamic|yarn|llama3|longrope|other)" +
                           "|partial_inner|partial_outer|two_thetas|own_head_dim|no_base)";
  const std::regex row(R"((transformers|llama_cpp|vllm|mlx|onnxruntime|sglang) \d+\.\d+ \d+\.\d+ )"
                       "(run|read|absent|none) (\\*|" +
                       cell + "( " + cell + ")*) \\|( \\S+)+");
  std::map<std::string, std::set<std::string>> families;
  std::ifstream file(test::source_path("src/model/dialects/evidence.txt"));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    EXPECT_TRUE(std::regex_match(line, row)) << line;
    if (!std::regex_search(line, std::regex(" (run|read) "))) continue;
    std::istringstream words(line.substr(line.find('|') + 1));
    std::set<std::string>& of_engine = families[line.substr(0, line.find(' '))];
    for (std::string word; words >> word;) of_engine.insert(word);
  }
  for (const Engine engine : all_engines) {
    const std::string name =
        engine == Engine::llama_cpp ? "llama_cpp" : std::string(to_string(engine));
    EXPECT_EQ(families_looked_at(engine), families[name].size()) << name;
  }
}

TEST(Evidence, AReadingNamesItsEvidence) {
  const DialectReading known = reading_in(plain, "transformers");
  EXPECT_EQ(known.evidence.kind, Evidence::run) << known.evidence.sentence;
  EXPECT_TRUE(known.evidence.sentence.starts_with("numbers of transformers "));
  EXPECT_TRUE(known.evidence.sentence.ends_with(" were compared for llama"));
  const auto model = test::value_of(resolve(plain));
  EXPECT_EQ(test::value_of(read_as(model, Dialect{})).evidence.kind, Evidence::none);
}

TEST(Evidence, AConfigFormThatAReleaseFailedOnIsUnknown) {
  constexpr std::string_view config = R"({"model_type": "llama", "hidden_size": 128,
    "num_attention_heads": 2, "rope_theta": 10000.0, "partial_rotary_factor": 0.5})";
  const DialectReading reading = reading_in(config, "transformers@4.57");
  EXPECT_EQ(reading.evidence.kind, Evidence::none);
  EXPECT_EQ(reading.evidence.sentence,
            "transformers 4.57 failed on the config of llama with partial_rotary_factor beside the "
            "rope dictionary that was tried");
  EXPECT_FALSE(reading.refusal);
}

TEST(Evidence, AReleaseBetweenTwoTestedOnesIsUnknown) {
  const DialectReading reading = reading_in(plain, "transformers@4.46");
  EXPECT_EQ(reading.evidence.kind, Evidence::none);
  EXPECT_EQ(reading.evidence.sentence, "transformers 4.46 was not looked at: 4.45 and 4.48 were");
  EXPECT_EQ(agreement_of(plain, "transformers@4.46", "transformers"), Agreement::unknown);
}

TEST(Evidence, AModelThatAnEngineLacksIsADifference) {
  constexpr std::string_view qwen3 = R"({"model_type": "qwen3", "hidden_size": 128,
    "num_attention_heads": 2, "head_dim": 64, "rope_theta": 1000000.0})";
  const DialectReading reading = reading_in(qwen3, "transformers@4.45");
  EXPECT_EQ(reading.evidence.kind, Evidence::absent);
  EXPECT_EQ(reading.refusal, "transformers 4.45 has no qwen3");
  EXPECT_EQ(agreement_of(qwen3, "transformers@4.45", "transformers"), Agreement::different);
}

// llama.cpp, vLLM and SGLang find a model by its class. Kimi K2 uses DeepSeek's class.
TEST(Evidence, FamiliesThatUseAnotherFamilysClassAreNotAbsent) {
  for (const char* family : {"kimi_k2", "nemotron-nas"}) {
    const std::string config = std::string(R"({"model_type": ")") + family + R"(",
      "hidden_size": 128, "num_attention_heads": 2, "num_hidden_layers": 2, "head_dim": 64,
      "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "rope_theta": 50000.0,
      "block_configs": [{"attention": {"no_op": false}}, {"attention": {"no_op": false}}]})";
    for (const char* engine : {"llama.cpp", "vllm", "sglang"})
      EXPECT_NE(reading_in(config, engine).evidence.kind, Evidence::absent) << family << engine;
  }
}

TEST(Evidence, AModelTypeThatNoReleaseHasIsUnknown) {
  for (const char* family : {"Yi", "xverse", "mimo"}) {
    const std::string config = std::string(R"({"model_type": ")") + family +
                               R"(", "hidden_size": 128, "num_attention_heads": 2})";
    for (const char* release : {"transformers@4.38", "transformers@4.57", "transformers"}) {
      const DialectReading reading = reading_in(config, release);
      EXPECT_EQ(reading.evidence.kind, Evidence::none) << family << release;
      EXPECT_TRUE(reading.evidence.sentence.ends_with("(trust_remote_code) was not looked at"));
      EXPECT_FALSE(reading.refusal);
    }
  }
}

TEST(Evidence, LlamaCppTakesTheBaseOfRopeParametersBesideScaling) {
  constexpr std::string_view config = R"({"model_type": "llama", "hidden_size": 128,
    "num_attention_heads": 2, "rope_theta": 50000.0, "rope_scaling": {"rope_type": "default"},
    "rope_parameters": {"rope_type": "default", "rope_theta": 20000.0}})";
  EXPECT_EQ(reading_in(config, "llama.cpp").model.rotary.front().spec.base.get(), 20000.0);
}

TEST(Evidence, MlxHasItsOwnDefaultBaseForQwen2) {
  constexpr std::string_view config = R"({"model_type": "qwen2", "hidden_size": 128,
    "num_attention_heads": 2, "num_hidden_layers": 2})";
  EXPECT_EQ(reading_in(config, "mlx").model.rotary.front().spec.base.get(), 1e6);
  EXPECT_EQ(agreement_of(config, "transformers", "mlx"), Agreement::different);
}

TEST(Evidence, MlxDividesHiddenSizeByHeadsAndIgnoresHeadDim) {
  constexpr std::string_view config = R"({"model_type": "mixtral", "hidden_size": 256,
    "num_attention_heads": 4, "num_hidden_layers": 2, "head_dim": 48, "rope_theta": 1e6})";
  EXPECT_EQ(reading_in(config, "transformers").model.rotary.front().spec.head_dim, 48);
  EXPECT_EQ(reading_in(config, "mlx").model.rotary.front().spec.head_dim, 64);
}

TEST(Evidence, EqualReadingsWithEvidenceAgree) {
  EXPECT_EQ(agreement_of(plain, "transformers@4.57", "transformers"), Agreement::same);
  EXPECT_EQ(agreement_of(plain, "transformers", "mlx"), Agreement::same);
}

TEST(Evidence, AWarningAboutAnEngineIsADifference) {
  constexpr std::string_view chunked = R"({"model_type": "qwen2", "hidden_size": 128,
    "num_attention_heads": 2, "num_hidden_layers": 2, "rope_theta": 1000000.0,
    "max_position_embeddings": 32768,
    "dual_chunk_attention_config": {"chunk_size": 4096, "local_size": 1024}})";
  const DialectReading reading = reading_in(chunked, "transformers");
  ASSERT_EQ(reading.disputes.size(), 1U);
  EXPECT_EQ(reading.disputes.front(), reading.model.warnings.front());
  EXPECT_EQ(agreement_of(chunked, "transformers", "vllm"), Agreement::different);
}

TEST(Evidence, AnOverrideIsReadAsIfTheConfigHadIt) {
  const ResolveOptions options{.overrides = {{"rope_parameters.rope_theta", "5e5"},
                                             {"rope_parameters.rope_type", "default"}}};
  const DialectReading reading = reading_in(plain, "transformers@4.51", options);
  EXPECT_EQ(reading.model.rotary.front().spec.base.get(), 10000.0);  // not read before 5.0
  EXPECT_EQ(reading_in(plain, "transformers", options).model.rotary.front().spec.base.get(), 5e5);
}

}  // namespace
}  // namespace rotary
