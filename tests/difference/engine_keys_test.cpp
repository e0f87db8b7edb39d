// SPDX-License-Identifier: Apache-2.0
// Keys of rope dictionaries that one engine reads and another does not. Numbers are those of vLLM
// 0.22 to 0.33 and SGLang 0.5.23, whose files the rules name.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "rotary/dialect.hpp"
#include "rotary/frequencies.hpp"
#include "support/error_matchers.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::fails;

std::string qwen3_with(const std::string& scaling) {
  return R"({"model_type": "qwen3", "head_dim": 128, "hidden_size": 4096,
             "num_attention_heads": 32, "num_hidden_layers": 2, "rope_theta": 1000000,
             "max_position_embeddings": 131072, "rope_scaling": {)" +
         scaling + "}}";
}

const std::string yarn = R"("rope_type": "yarn", "factor": 4.0,
                            "original_max_position_embeddings": 32768)";

DialectReading reading_of(const std::string& config, std::string_view dialect) {
  return test::value_of(read_as(config, test::value_of(parse_dialect(dialect))));
}

Frequencies frequencies_of(const std::string& config, std::string_view dialect) {
  const DialectReading reading = reading_of(config, dialect);
  EXPECT_FALSE(reading.acted.empty()) << dialect;
  return test::value_of(make_frequencies(reading.model.rotary.front().spec, 131072));
}

TEST(EngineKeys, AttnFactorMultipliesInSomeEngines) {
  const std::string config = qwen3_with(yarn + R"(, "attn_factor": 0.8782488562869419)");
  const double computed = 0.1 * std::log(4.0) + 1;
  EXPECT_EQ(frequencies_of(config, "transformers").attention_factor, computed);
  EXPECT_EQ(frequencies_of(config, "transformers@4.57").attention_factor, computed);
  EXPECT_EQ(frequencies_of(config, "llama.cpp").attention_factor, computed);
  EXPECT_EQ(frequencies_of(config, "mlx").attention_factor, computed);
  EXPECT_EQ(frequencies_of(config, "vllm").attention_factor, computed);
  EXPECT_NEAR(frequencies_of(config, "vllm@0.29").attention_factor, 1, 1e-15);
  EXPECT_NEAR(frequencies_of(config, "sglang").attention_factor, 1, 1e-15);
  EXPECT_EQ(reading_of(config, "transformers").evidence.kind, Evidence::read);
  const std::string nested = R"({"model_type": "llava", "text_config": )" + config + "}";
  EXPECT_NEAR(frequencies_of(nested, "sglang").attention_factor, 1, 1e-15);
}

TEST(EngineKeys, ExtrapolationFactorMixes) {
  const auto first_and_last = [](const std::string& value, std::string_view dialect) {
    const auto all =
        frequencies_of(qwen3_with(yarn + ", \"extrapolation_factor\": " + value), dialect).inv_freq;
    return std::pair(all.front(), all.back());
  };
  const auto usual = first_and_last("1", "sglang");
  EXPECT_EQ(usual.first, 1);
  EXPECT_EQ(first_and_last("0.5", "transformers"), usual);
  EXPECT_EQ(first_and_last("0.5", "vllm@0.33"), usual);
  for (const std::string_view dialect : {"sglang", "vllm@0.25"}) {
    // The first pair is not divided: 1/4 + (1 - 1/4) / 2. The last one is, whatever the weight.
    EXPECT_EQ(first_and_last("0.5", dialect).first, 0.625);
    EXPECT_NEAR(first_and_last("0.5", dialect).second, usual.second, 1e-20);
  }
}

TEST(EngineKeys, AlphaEnlargesTheBase) {
  const std::string config = qwen3_with(R"("type": "dynamic", "factor": 1.0, "alpha": 1000)");
  const double second = std::pow(1e6 * std::pow(1000, 128.0 / 126), -2.0 / 128);
  for (const std::string_view dialect : {"vllm", "vllm@0.22", "sglang"})
    EXPECT_NEAR(frequencies_of(config, dialect).inv_freq[1], second, 1e-15) << dialect;
  EXPECT_NEAR(frequencies_of(config, "transformers").inv_freq[1], std::pow(1e6, -2.0 / 128), 1e-15);
}

TEST(EngineKeys, KeysThatNobodyReadsStayRefused) {
  for (const char* const scaling : {R"("rope_type": "yarn", "factor": 4.0, "attn_facto": 1)",
                                    R"("rope_type": "linear", "factor": 4.0, "attn_factor": 1)",
                                    R"("rope_type": "yarn", "factor": 4.0, "attn_factor": "1")"}) {
    EXPECT_TRUE(
        fails(read_as(qwen3_with(scaling), {.engine = Engine::sglang}), ErrorCode::unsupported, {}))
        << scaling;
    EXPECT_TRUE(fails(resolve(qwen3_with(scaling)), ErrorCode::unsupported, {})) << scaling;
  }
}

}  // namespace
}  // namespace rotary
