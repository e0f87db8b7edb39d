// SPDX-License-Identifier: Apache-2.0
// Resolves GGUF files with llama.cpp's flags and with overridden keys. Expected values follow
// llama_context in src/llama-context.cpp and get_rope_freq_base in src/llama-model.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/resolving.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/gguf.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/scaling.hpp"
#include "support/gguf_bytes.hpp"
#include "support/refusals.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::GgufFile;
using test::only_spec;
using test::resolve;
using test::resolved;
using test::source_of;
using test::yarn;
using Overrides = std::vector<ConfigOverride>;

ModelSpec with(const GgufFile& file, Overrides overrides) {
  return resolved(file, {.overrides = std::move(overrides)});
}

// A context of 4096 tokens, base 1e6.
GgufFile qwen3() { return GgufFile::small("qwen3").f32("$.rope.freq_base", 1e6F); }

TEST(GgufFlags, YarnFlagsEqualYarnKeys) {
  const ModelSpec asked = with(
      qwen3(), {{"--rope-scaling", "yarn"}, {"--rope-scale", "4"}, {"--yarn-orig-ctx", "1024"}});
  const ModelSpec stated = resolved(yarn("qwen3", 4).f32("$.rope.freq_base", 1e6F));
  EXPECT_EQ(only_spec(asked).scaling, only_spec(stated).scaling);
  EXPECT_EQ(asked.warnings, std::vector<std::string>{});
  EXPECT_EQ(asked.rotary.front().trained_context_tokens, 4096);
  const auto& sources = asked.rotary.front().sources;
  EXPECT_EQ(source_of(sources, "rope_type"), "asked --rope-scaling");
  EXPECT_EQ(source_of(sources, "factor"), "asked --rope-scale");
  EXPECT_EQ(source_of(sources, "base"), "stated qwen3.rope.freq_base");
}

TEST(GgufFlags, KeepTheFilesScalingTypeUnlessOneIsGiven) {
  EXPECT_EQ(only_spec(with(qwen3(), {{"--rope-scale", "4"}})).scaling,
            Scaling(LinearScaling{.factor = 4}));
  EXPECT_EQ(only_spec(with(qwen3(), {{"--rope-freq-scale", "0.125"}})).scaling,
            Scaling(LinearScaling{.factor = 8}));
  const ModelSpec longer = with(yarn("qwen3", 4), {{"--rope-scale", "8"}});
  const auto rule = std::get<YarnScaling>(only_spec(longer).scaling);
  EXPECT_EQ(rule.factor, 8);
  EXPECT_EQ(rule.original_context_tokens, 1024);
  EXPECT_DOUBLE_EQ(rule.attention_factor.value(), 0.1 * std::log(8.0) + 1);
  EXPECT_EQ(longer.rotary.front().trained_context_tokens, 8192);
  EXPECT_EQ(only_spec(with(yarn("qwen3", 4), {{"--rope-scaling", "none"}})).scaling,
            Scaling(NoScaling{}));
  EXPECT_EQ(only_spec(with(yarn("qwen3", 4), {{"--rope-scaling", "linear"}})).scaling,
            Scaling(LinearScaling{.factor = 4}));
}

TEST(GgufFlags, ChangeNothingAtTheirDefaults) {
  const Scaling stated = only_spec(resolved(yarn("qwen3", 4))).scaling;
  for (const auto& each : Overrides{{"--rope-freq-base", "0"},
                                    {"--rope-freq-scale", "0"},
                                    {"--yarn-ext-factor", "-1"},
                                    {"--yarn-attn-factor", "-1"},
                                    {"--yarn-orig-ctx", "0"}}) {
    const ModelSpec model = with(yarn("qwen3", 4), {each});
    EXPECT_EQ(only_spec(model).scaling, stated) << each.key;
    EXPECT_EQ(only_spec(model).base, 10000) << each.key;
  }
}

// The unscaled frequency has the weight (1 - ramp) * --yarn-ext-factor. Pair 0 has the ramp 0.
TEST(GgufFlags, SetSingleYarnParameters) {
  const auto frequencies = [](Overrides more) {
    more.push_back({"--rope-scaling", "yarn"});
    more.push_back({"--rope-scale", "4"});
    const ModelSpec model = with(qwen3(), std::move(more));
    return test::value_of(make_frequencies(only_spec(model)));
  };
  EXPECT_EQ(frequencies({{"--yarn-ext-factor", "0.5"}}).inv_freq.front(), 0.625);
  const Frequencies off = frequencies({{"--yarn-ext-factor", "0"}, {"--yarn-attn-factor", "1.5"}});
  EXPECT_EQ(off.inv_freq.front(), 0.25);
  EXPECT_EQ(off.attention_factor, 1.5);
  // If YaRN is on, llama.cpp computes the factor on cos and sin and ignores the flag.
  const ModelSpec on = with(yarn("qwen3", 4), {{"--yarn-attn-factor", "1.5"}});
  EXPECT_EQ(only_spec(on).scaling, only_spec(resolved(yarn("qwen3", 4))).scaling);
  ASSERT_EQ(on.warnings.size(), 1U);
  EXPECT_TRUE(on.warnings.front().starts_with("--yarn-attn-factor has no effect"));
  const auto betas = std::get<YarnScaling>(
      only_spec(with(yarn("qwen3", 4), {{"--yarn-beta-fast", "16"}, {"--yarn-beta-slow", "2"}}))
          .scaling);
  EXPECT_EQ(betas.beta_fast, 16);
  EXPECT_EQ(betas.beta_slow, 2);
}

// Sliding layers of Gemma 3 and gpt-oss ignore the flags. Those of EXAONE MoE follow them.
TEST(GgufFlags, ApplyToSlidingLayersOfSomeArchitecturesOnly) {
  const GgufFile gemma = GgufFile::small("gemma3")
                             .u32("$.attention.sliding_window", 512)
                             .booleans("$.attention.sliding_window_pattern", {true, false})
                             .f32("$.rope.freq_base", 1e6F);
  const ModelSpec model = with(gemma, {{"--rope-freq-base", "5e5"}, {"--rope-scale", "2"}});
  ASSERT_EQ(model.rotary.size(), 2U);
  EXPECT_EQ(model.rotary[0].spec.base, 5e5);
  EXPECT_EQ(model.rotary[0].spec.scaling, Scaling(LinearScaling{.factor = 2}));
  EXPECT_EQ(model.rotary[1].spec.base, 1e4);
  EXPECT_EQ(model.rotary[1].spec.scaling, Scaling(NoScaling{}));
  const GgufFile gpt_oss = GgufFile::small("gpt-oss").f32("$.rope.freq_base", 15e4F);
  const ModelSpec two = with(gpt_oss, {{"--rope-freq-base", "1e6"}});
  ASSERT_EQ(two.rotary.size(), 2U);
  EXPECT_EQ(two.rotary[0].spec.base, 1e6);
  EXPECT_EQ(two.rotary[1].spec.base, 15e4);
  const GgufFile exaone = GgufFile::small("exaone-moe");
  EXPECT_EQ(only_spec(with(exaone, {{"--rope-freq-base", "1e6"}})).base, 1e6);
}

TEST(GgufFlags, WarnIfTheyHaveNoEffect) {
  const auto warnings = [](Overrides overrides) {
    return with(qwen3(), std::move(overrides)).warnings;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(warnings({{"--yarn-orig-ctx", "1024"}}),
            Texts{"--yarn-orig-ctx has no effect, because the scaling is linear, not yarn"});
  EXPECT_EQ(warnings({{"--yarn-beta-fast", "16"}}),
            Texts{"--yarn-beta-fast has no effect, because the scaling is linear, not yarn"});
  EXPECT_EQ(warnings({{"--rope-scaling", "none"}, {"--rope-scale", "4"}}),
            Texts{"--rope-scale has no effect, because the scaling is none"});
}

TEST(GgufFlags, OverridesReplaceKeys) {
  EXPECT_EQ(only_spec(with(qwen3(), {{"rope.freq_base", "5e5"}})).base, 5e5);
  EXPECT_EQ(only_spec(with(qwen3(), {{"qwen3.rope.freq_base", "null"}})).base, 10000);
  const ModelSpec model = with(qwen3(), {{"rope.scaling.type", "yarn"},
                                         {"rope.scaling.factor", "4"},
                                         {"rope.scaling.original_context_length", "1024"}});
  EXPECT_EQ(only_spec(model).scaling, only_spec(resolved(yarn("qwen3", 4))).scaling);
  EXPECT_EQ(source_of(model.rotary.front().sources, "rope_type"), "stated qwen3.rope.scaling.type");
  // Python passes the flags as keyword arguments, whose names have no dashes.
  EXPECT_EQ(only_spec(with(qwen3(), {{"rope_scaling", "\"linear\""}, {"rope_scale", "2"}})).scaling,
            Scaling(LinearScaling{.factor = 2}));
}

TEST(GgufFlags, RefuseImpossibleValues) {
  const auto refuse = [](ConfigOverride each, std::string_view message) {
    test::refused(resolve(qwen3(), {.overrides = {std::move(each)}}), {message},
                  ErrorCode::invalid_argument);
  };
  refuse({"--rope-scaling", "longrope"}, "--rope-scaling must be none, linear or yarn");
  refuse({"--rope-scale", "0"}, "--rope-scale must be > 0, got 0");
  refuse({"--rope-freq-scale", "-1"}, "--rope-freq-scale must be >= 0, got -1");
  refuse({"--rope-freq-base", "x"}, "--rope-freq-base must be a finite number");
  refuse({"--yarn-orig-ctx", "1.5"}, "--yarn-orig-ctx must be an integer from 0 to 2^31 - 1");
  refuse({"--rope-scael", "4"}, "got --rope-scael; did you mean --rope-scale?");
  refuse({"rope.freq_bas", "4"}, "did you mean qwen3.rope.freq_base?");
  refuse({"rope.freq_base", "{}"}, "must be set to a number, a boolean, a text or a list");
  refuse({.key = "rope.freq_base", .value = "", .from = "base"}, "no keys of other names");
}

// Vocabulary files of llama.cpp without their tokenizers (tests/golden/gguf, PROVENANCE.md).
// Expected values are from the gguf package's GGUFReader, pairings from llama_model_rope_type.

using test::value_of;

ModelSpec model_of(std::string_view name) {
  const std::string bytes = test::file_named("vocab-", name, ".gguf");
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

TEST(GgufVocabularies, RotaryModelsAreRead) {
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

TEST(GgufVocabularies, Versions2And3AreRead) {
  const auto version_of = [](std::string_view name) {
    const std::string bytes = test::file_named("vocab-", name, ".gguf");
    return value_of(read_gguf_metadata(byte_source(test::as_byte_span(bytes)))).version;
  };
  EXPECT_EQ(version_of("aquila"), 2U);
  EXPECT_EQ(version_of("baichuan"), 3U);
}

TEST(GgufVocabularies, LearnedPositionsAreRead) {
  for (const auto& [file, architecture] : {std::pair("gpt-2", "gpt2"), {"bert-bge", "bert"}}) {
    const ModelSpec model = model_of(file);
    EXPECT_EQ(model.model_type, architecture);
    EXPECT_TRUE(model.rotary.empty());
    ASSERT_EQ(model.layers.size(), 12U);
    EXPECT_EQ(model.layers.front().encoding, LayerEncoding::learned);
  }
}

TEST(GgufVocabularies, AlibiIsRead) {
  for (const auto& [file, heads] : {std::pair("mpt", 32), {"refact", 32}}) {
    const ModelSpec model = model_of(file);
    EXPECT_EQ(model.layers.front().encoding, LayerEncoding::alibi);
    ASSERT_TRUE(model.relative_bias) << file;
    EXPECT_EQ(std::get<Alibi>(*model.relative_bias), (Alibi{.heads = heads, .bias_max = 8}));
  }
}

TEST(GgufVocabularies, Gemma4HasTwoHeadDimsAndWarnsOfMissingFactors) {
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

// StarCoder2's config has base 999999.4420358813.
TEST(GgufVocabularies, StarcodersBaseIsRounded) {
  const ModelSpec model = model_of("starcoder");
  ASSERT_TRUE(model.gguf);
  ASSERT_EQ(model.gguf->unstated.size(), 2U);
  EXPECT_EQ(model.gguf->unstated[1],
            "starcoder2.rope.freq_base is a float32: 999999.4375 is what the checkpoint's base "
            "rounds to, which may be 999999.44");
}

}  // namespace
}  // namespace rotary
