// SPDX-License-Identifier: Apache-2.0
// The vocabulary files of llama.cpp, which others wrote over three years, without their tokenizers
// (tests/golden/gguf, PROVENANCE.md). Expected values were read off them by the gguf package's own
// GGUFReader, pairings are those of llama_model_rope_type.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "rotary/gguf.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/scaling.hpp"
#include "support/gguf_bytes.hpp"
#include "support/result.hpp"
#include "support/source_path.hpp"

namespace rotary {
namespace {

using test::value_of;

std::string file_named(std::string_view name) {
  const std::string path =
      test::source_path("tests/golden/gguf/vocab-").append(name).append(".gguf");
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

ModelSpec model_of(std::string_view name) {
  const std::string bytes = file_named(name);
  return value_of(resolve_gguf(byte_source(test::as_byte_span(bytes))));
}

struct Rotary {
  std::string_view file;
  std::string_view architecture;
  std::size_t layers;
  std::int64_t head_dim;
  std::int64_t rotary_dim;
  double base;
  Pairing pairing;
  Pairing checkpoint;
  std::int64_t trained_context;
};

constexpr Pairing half = Pairing::half;
constexpr Pairing neighbours = Pairing::interleaved;

constexpr Rotary rotaries[] = {
    {"aquila", "llama", 32, 128, 128, 1e4, neighbours, half, 2048},
    {"baichuan", "baichuan", 32, 128, 128, 1e4, neighbours, half, 4096},
    {"command-r", "command-r", 40, 128, 128, 8e6, neighbours, neighbours, 131072},
    {"deepseek-coder", "llama", 32, 128, 128, 1e5, neighbours, half, 16384},
    {"deepseek-llm", "llama", 30, 128, 128, 1e4, neighbours, half, 4096},
    {"falcon", "falcon", 32, 64, 64, 1e4, half, half, 2048},
    {"gpt-neox", "gptneox", 44, 96, 24, 1e4, half, half, 2048},
    {"llama-bpe", "llama", 32, 128, 128, 5e5, neighbours, half, 8192},
    {"llama-spm", "llama", 32, 128, 128, 1e4, neighbours, half, 4096},
    {"nomic-bert-moe", "nomic-bert-moe", 12, 64, 64, 1e4, half, half, 512},
    {"phi-3", "phi3", 32, 96, 96, 1e4, half, half, 4096},
    {"qwen2", "qwen2", 32, 128, 128, 1e6, half, half, 32768},
    {"qwen35", "qwen2", 32, 128, 128, 1e6, half, half, 32768},
    {"starcoder", "starcoder2", 30, 128, 128, 999999.4375, half, half, 16384},
};

TEST(GgufVocabularies, ThatRotate) {
  for (const Rotary& expected : rotaries) {
    SCOPED_TRACE(expected.file);
    const ModelSpec model = model_of(expected.file);
    EXPECT_EQ(model.model_type, expected.architecture);
    EXPECT_EQ(model.warnings, std::vector<std::string>());
    ASSERT_EQ(model.layers.size(), expected.layers);
    for (const ModelLayer& layer : model.layers) EXPECT_EQ(layer.encoding, LayerEncoding::rotary);
    ASSERT_EQ(model.rotary.size(), 1U);
    const ModelRotary& rotary = model.rotary.front();
    EXPECT_EQ(rotary.layer_type, std::nullopt);
    EXPECT_EQ(rotary.spec.head_dim, expected.head_dim);
    EXPECT_EQ(rotary.spec.rotary_dim, expected.rotary_dim);
    EXPECT_EQ(rotary.spec.base, expected.base);
    EXPECT_EQ(rotary.spec.pairing, expected.pairing);
    EXPECT_EQ(rotary.spec.axes, std::nullopt);
    EXPECT_EQ(rotary.nope_head_dim, 0);
    EXPECT_EQ(rotary.trained_context_tokens, expected.trained_context);
    ASSERT_TRUE(model.gguf);
    EXPECT_EQ(model.gguf->checkpoint_pairing, expected.checkpoint);
    EXPECT_EQ(model.gguf->rows, expected.pairing == expected.checkpoint ? ProjectionRows::kept
                                                                        : ProjectionRows::permuted);
    const bool is_coder = expected.file == "deepseek-coder";
    EXPECT_EQ(rotary.spec.scaling == Scaling(LinearScaling{.factor = 4}), is_coder);
    EXPECT_EQ(rotary.spec.scaling == Scaling(NoScaling{}), !is_coder);
  }
}

TEST(GgufVocabularies, AreOfVersion2Or3) {
  const auto version_of = [](std::string_view name) {
    const std::string bytes = file_named(name);
    return value_of(read_gguf_metadata(byte_source(test::as_byte_span(bytes)))).version;
  };
  EXPECT_EQ(version_of("aquila"), 2U);
  EXPECT_EQ(version_of("baichuan"), 3U);
}

TEST(GgufVocabularies, ThatLearnPositions) {
  for (const auto& [file, architecture] : {std::pair("gpt-2", "gpt2"), {"bert-bge", "bert"}}) {
    const ModelSpec model = model_of(file);
    EXPECT_EQ(model.model_type, architecture);
    EXPECT_TRUE(model.rotary.empty());
    ASSERT_EQ(model.layers.size(), 12U);
    EXPECT_EQ(model.layers.front().encoding, LayerEncoding::learned);
  }
}

TEST(GgufVocabularies, ThatHaveLinearBiases) {
  for (const auto& [file, heads] : {std::pair("mpt", 32), {"refact", 32}}) {
    const ModelSpec model = model_of(file);
    EXPECT_EQ(model.layers.front().encoding, LayerEncoding::alibi);
    ASSERT_TRUE(model.relative_bias) << file;
    EXPECT_EQ(std::get<Alibi>(*model.relative_bias), (Alibi{.heads = heads, .bias_max = 8}));
  }
}

TEST(GgufVocabularies, Gemma4HasTwoWidthsAndLacksItsFactors) {
  const ModelSpec model = model_of("gemma-4");
  ASSERT_EQ(model.rotary.size(), 2U);
  const RotarySpec& full = model.rotary[0].spec;
  const RotarySpec& sliding = model.rotary[1].spec;
  EXPECT_EQ(model.rotary[0].layer_type, "full_attention");
  EXPECT_EQ(model.rotary[1].layer_type, "sliding_attention");
  EXPECT_EQ(full.head_dim, 512);
  EXPECT_EQ(full.base, 1e6);
  EXPECT_EQ(sliding.head_dim, 256);
  EXPECT_EQ(sliding.rotary_dim, 256);
  EXPECT_EQ(sliding.base, 1e4);
  ASSERT_EQ(model.layers.size(), 30U);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    EXPECT_EQ(model.layers[i].rotary, i % 6 == 5 ? 0U : 1U) << i;
  }
  ASSERT_EQ(model.warnings.size(), 1U);
  EXPECT_EQ(model.warnings.front(),
            "tensor rope_freqs.weight is not in this file, and says which pairs of layers with "
            "full attention turn: they are shown as if all did");
}

// The base in StarCoder2's config is 999999.4420358813.
TEST(GgufVocabularies, StarcodersBaseWasRounded) {
  const ModelSpec model = model_of("starcoder");
  ASSERT_TRUE(model.gguf);
  ASSERT_EQ(model.gguf->unstated.size(), 2U);
  EXPECT_EQ(model.gguf->unstated[1],
            "starcoder2.rope.freq_base is a float32: 999999.4375 is what the checkpoint's base "
            "rounds to, which may be 999999.44");
}

}  // namespace
}  // namespace rotary
