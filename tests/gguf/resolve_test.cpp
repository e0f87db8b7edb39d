// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/resolving.hpp"
#include "rotary/gguf.hpp"
#include "rotary/scaling.hpp"
#include "support/refusals.hpp"

namespace rotary {
namespace {

using test::GgufFile;
using test::layers_of;
using test::only_spec;
using test::resolve;
using test::resolved;
using test::source_of;
using test::with_layers;
using test::yarn;

constexpr auto malformed = ErrorCode::malformed_input;
constexpr auto unsupported = ErrorCode::unsupported;

TEST(ResolveGguf, ReadsALlama) {
  const ModelSpec model = resolved(GgufFile::small("llama").f32("$.rope.freq_base", 5e5F));
  const RotarySpec& spec = only_spec(model);
  EXPECT_EQ(model.model_type, "llama");
  EXPECT_EQ(spec.head_dim, 64);
  EXPECT_EQ(spec.base, 5e5);
  EXPECT_EQ(spec.pairing, Pairing::interleaved);
  EXPECT_EQ(spec.numerics, Numerics::exact);
  EXPECT_EQ(layers_of(model), "00");
  EXPECT_EQ(model.gguf->rope_type, "norm");
  EXPECT_EQ(model.gguf->rows, ProjectionRows::permuted);
  EXPECT_EQ(model.gguf->checkpoint_pairing, Pairing::half);
  const auto& sources = model.rotary.front().sources;
  EXPECT_EQ(source_of(sources, "base"), "stated llama.rope.freq_base");
  EXPECT_EQ(source_of(sources, "head_dim"),
            "rule llama.embedding_length / llama.attention.head_count");
  EXPECT_EQ(source_of(sources, "rotary_dim"), "class_default llama.rope.dimension_count");
  EXPECT_EQ(source_of(sources, "pairing"), "family");
  EXPECT_EQ(source_of(sources, "rope_type"), "class_default llama.rope.scaling.type");
  EXPECT_EQ(source_of(sources, "trained_context_tokens"), "stated llama.context_length");
  EXPECT_EQ(source_of(model.sources, "model_type"), "stated general.architecture");
  EXPECT_EQ(source_of(model.sources, "layers"), "stated llama.block_count");
}

TEST(ResolveGguf, GivesTheSameSpecInBothByteOrders) {
  const auto file = [](std::endian order) {
    return GgufFile::small("llama", order)
        .f32("$.rope.freq_base", 12345.678F)
        .text("$.rope.scaling.type", "yarn")
        .f32("$.rope.scaling.factor", 8)
        .u32("$.rope.scaling.original_context_length", 512);
  };
  const ModelSpec little = resolved(file(std::endian::little));
  const ModelSpec big = resolved(file(std::endian::big));
  EXPECT_EQ(only_spec(little).scaling, only_spec(big).scaling);
  EXPECT_EQ(only_spec(little).base, only_spec(big).base);
}

TEST(ResolveGguf, Accepts64BitNumbers) {
  const GgufFile file = GgufFile()
                            .text("general.architecture", "llama")
                            .u64("llama.block_count", 1)
                            .u64("llama.context_length", 2048)
                            .u64("llama.attention.key_length", 64)
                            .f64("llama.rope.freq_base", 1e5);
  EXPECT_EQ(only_spec(resolved(file)).base, 1e5);
  EXPECT_EQ(only_spec(resolved(file)).head_dim, 64);
}

TEST(ResolveGguf, ReadsLinearScaling) {
  const auto scaling = [](const GgufFile& file) { return only_spec(resolved(file)).scaling; };
  const GgufFile file = GgufFile::small("llama");
  EXPECT_EQ(scaling(GgufFile(file).f32("$.rope.scaling.factor", 4)),
            Scaling(LinearScaling{.factor = 4}));
  EXPECT_EQ(scaling(GgufFile(file).f32("$.rope.scale_linear", 2)),
            Scaling(LinearScaling{.factor = 2}));
  EXPECT_EQ(scaling(GgufFile(file).f32("$.rope.scaling.factor", 0)), Scaling(NoScaling{}));
  EXPECT_EQ(
      scaling(GgufFile(file).f32("$.rope.scaling.factor", 4).text("$.rope.scaling.type", "none")),
      Scaling(NoScaling{}));
}

TEST(ResolveGguf, ReadsYarn) {
  const auto rule = std::get<YarnScaling>(only_spec(resolved(yarn("qwen3", 4))).scaling);
  EXPECT_EQ(rule.factor, 4);
  EXPECT_EQ(rule.original_context_tokens, 1024);
  EXPECT_EQ(rule.beta_fast, 32);
  EXPECT_EQ(rule.beta_slow, 1);
  EXPECT_EQ(rule.ramp, YarnRamp::whole_pairs);
  EXPECT_DOUBLE_EQ(rule.attention_factor.value(), 0.1 * std::log(4.0) + 1);
}

TEST(ResolveGguf, WarnsOfYarnKeysThatLlamaCppIgnores) {
  const GgufFile file = yarn("qwen3", 4)
                            .f32("$.rope.scaling.yarn_beta_fast", 16)
                            .f32("$.rope.scaling.yarn_beta_slow", 1)
                            .f32("$.rope.scaling.yarn_attn_factor", 2);
  const ModelSpec model = resolved(file);
  EXPECT_EQ(std::get<YarnScaling>(only_spec(model).scaling).beta_fast, 32);
  EXPECT_EQ(model.warnings,
            (std::vector<std::string>{
                "qwen3.rope.scaling.yarn_beta_fast 16 is not read: llama.cpp computes with 32 for "
                "architecture qwen3",
                "qwen3.rope.scaling.yarn_attn_factor 2 is not read: llama.cpp computes with 1 for "
                "architecture qwen3"}));
  const ModelSpec mistral = resolved(yarn("mistral3", 4).f32("$.rope.scaling.yarn_beta_fast", 4));
  EXPECT_EQ(std::get<YarnScaling>(only_spec(mistral).scaling).beta_fast, 4);
  EXPECT_TRUE(mistral.warnings.empty());
}

// yarn_log_multiplier of deepseek2 is 0.1 mscale_all_dim. The square of the resulting factor
// multiplies the softmax scale.
TEST(ResolveGguf, ReadsLatentAttention) {
  const GgufFile file = yarn("deepseek2", 40)
                            .u32("$.rope.dimension_count", 64)
                            .u32("$.attention.key_length", 576)
                            .u32("$.attention.key_length_mla", 192)
                            .f32("$.rope.scaling.yarn_log_multiplier", 0.1F);
  const ModelRotary rotary = resolved(file).rotary.at(0);
  EXPECT_EQ(rotary.spec.head_dim, 64);
  EXPECT_EQ(rotary.nope_head_dim, 128);
  EXPECT_EQ(rotary.spec.pairing, Pairing::interleaved);
  EXPECT_DOUBLE_EQ(std::get<YarnScaling>(rotary.spec.scaling).attention_factor.value(), 1);
  const double growth = 0.1 * std::log(40.0) + 1;
  EXPECT_NEAR(rotary.softmax_factor, growth * growth, 1e-7);  // 1.8738, as for DeepSeek-V3
  test::refused(resolve(GgufFile::small("deepseek2")),
                {"deepseek2.rope.dimension_count must be given, because attention is latent"},
                malformed);
}

TEST(ResolveGguf, ReadsFactorsForEachPair) {
  std::vector<float> factors(32, 1.0F);
  for (std::size_t i = 16; i < factors.size(); ++i) factors[i] = 8;
  const RotarySpec spec =
      only_spec(resolved(GgufFile::small("llama").tensor("rope_freqs.weight", factors)));
  const auto& rule = std::get<ExplicitScaling>(spec.scaling);
  ASSERT_EQ(rule.inv_freq.size(), 32U);
  EXPECT_EQ(rule.attention_factor, 1);
  EXPECT_DOUBLE_EQ(rule.inv_freq[15], std::pow(1e4, -30.0 / 64));
  EXPECT_DOUBLE_EQ(rule.inv_freq[16], std::pow(1e4, -32.0 / 64) / 8);
  const GgufFile ones =
      GgufFile::small("llama").tensor("rope_freqs.weight", std::vector<float>(32, 1.0F));
  EXPECT_EQ(only_spec(resolved(ones)).scaling, Scaling(NoScaling{}));
}

TEST(ResolveGguf, ReadsFactorsThatStopPairs) {
  std::vector<float> factors(32, 1.0F);
  for (std::size_t i = 8; i < factors.size(); ++i) factors[i] = 1e30F;
  const GgufFile file = GgufFile::small("gemma4")
                            .u32("$.attention.sliding_window", 512)
                            .booleans("$.attention.sliding_window_pattern", {true, false})
                            .tensor("rope_freqs.weight", factors);
  const ModelSpec model = resolved(file);
  ASSERT_EQ(model.rotary.size(), 2U);
  EXPECT_EQ(model.rotary[0].spec.scaling, Scaling(ProportionalScaling{.turning_fraction = 0.25}));
  EXPECT_EQ(model.rotary[1].spec.scaling, Scaling(NoScaling{}));
  EXPECT_EQ(layers_of(model), "10");
  EXPECT_EQ(source_of(model.rotary[0].sources, "partial_rotary_factor"),
            "stated rope_freqs.weight");
}

TEST(ResolveGguf, RefusesBadFactors) {
  const auto with = [](const std::vector<float>& factors) {
    return resolve(GgufFile::small("llama").tensor("rope_freqs.weight", factors));
  };
  test::refused(with(std::vector<float>(16, 1.0F)),
                {"tensor rope_freqs.weight must have a number for each of 32 pairs, got 16"},
                malformed);
  for (const float bad : {0.0F, -1.0F, std::nanf(""), INFINITY}) {
    std::vector<float> factors(32, 1.0F);
    factors[31] = bad;
    test::refused(with(factors),
                  {"numbers of tensor rope_freqs.weight must be finite and > 0, got "}, malformed);
  }
}

TEST(ResolveGguf, ReadsLongRope) {
  const GgufFile file = GgufFile::small("phi3")
                            .u32("$.rope.scaling.original_context_length", 1024)
                            .f32("$.rope.scaling.attn_factor", 1.25F)
                            .text("$.rope.scaling.type", "longrope")
                            .tensor("rope_factors_long.weight", std::vector<float>(32, 4.0F))
                            .tensor("rope_factors_short.weight", std::vector<float>(32, 2.0F));
  const ModelSpec model = resolved(file);
  EXPECT_EQ(only_spec(model).scaling,
            Scaling(LongRopeScaling{.short_factor = std::vector<double>(32, 2.0),
                                    .long_factor = std::vector<double>(32, 4.0),
                                    .original_context_tokens = 1024,
                                    .factor = 4,
                                    .attention_factor = 1.25}));
  const GgufFile without = GgufFile::small("phi3").text("$.rope.scaling.type", "longrope");
  EXPECT_EQ(resolved(without).warnings.size(), 1U);
  const GgufFile one =
      GgufFile::small("phi3").tensor("rope_factors_long.weight", std::vector<float>(32, 4.0F));
  test::refused(resolve(one), {"must both be there or neither, got one"}, malformed);
}

TEST(ResolveGguf, ReadsSections) {
  const GgufFile vision =
      GgufFile::small("qwen2vl").i32s("$.rope.dimension_sections", {8, 12, 12, 0});
  const ModelSpec model = resolved(vision);
  EXPECT_EQ(model.gguf->rope_type, "mrope");
  EXPECT_EQ(only_spec(model).axes, (Axes{.pairs = {8, 12, 12},
                                         .arrangement = AxisArrangement::blocks,
                                         .exponents = AxisExponents::shared}));
  EXPECT_EQ(only_spec(resolved(vision, {.numerics = Numerics::ggml})).axes, std::nullopt);
  test::refused(resolve(GgufFile::small("qwen2vl")),
                {"qwen2vl.rope.dimension_sections must be given, got none"}, malformed);
  const GgufFile few = GgufFile::small("qwen2vl").i32s("$.rope.dimension_sections", {8, 12, 4});
  test::refused(resolve(few), {"must sum to at least the number of pairs, 32"}, unsupported);
}

// Qwen3-VL's sections are 24, 20, 20. Pairs 61 and 62 are beyond 3 * 20, so llama.cpp does not
// rotate them; pair 63 is below 3 * 24.
TEST(ResolveGguf, ReadsInterleavedSectionsWithUnrotatedPairs) {
  const GgufFile file = GgufFile::small("qwen3vl")
                            .u32("$.attention.key_length", 128)
                            .i32s("$.rope.dimension_sections", {24, 20, 20, 0});
  const ModelSpec model = resolved(file);
  const RotarySpec& spec = only_spec(model);
  EXPECT_EQ(spec.axes, (Axes{.pairs = {24, 20, 20},
                             .arrangement = AxisArrangement::interleaved,
                             .exponents = AxisExponents::shared}));
  const auto& rule = std::get<ExplicitScaling>(spec.scaling);
  for (std::size_t pair = 0; pair < 64; ++pair) {
    const double frequency = std::pow(1e4, -static_cast<double>(pair) / 64);
    EXPECT_DOUBLE_EQ(rule.inv_freq[pair], pair == 61 || pair == 62 ? 0 : frequency) << pair;
  }
  EXPECT_EQ(model.warnings.size(), 1U);
}

TEST(ResolveGguf, GlmChangesItsPairingWithSections) {
  const ModelSpec text = resolved(GgufFile::small("glm4").u32("$.rope.dimension_count", 32));
  EXPECT_EQ(only_spec(text).pairing, Pairing::interleaved);
  EXPECT_EQ(only_spec(text).rotary_dim, 32);
  EXPECT_EQ(text.gguf->rows, ProjectionRows::kept);
  const ModelSpec images =
      resolved(GgufFile::small("glm4").i32s("$.rope.dimension_sections", {8, 12, 12, 0}));
  EXPECT_EQ(only_spec(images).pairing, Pairing::half);
  EXPECT_EQ(images.gguf->rows, ProjectionRows::permuted);
  EXPECT_EQ(images.gguf->checkpoint_pairing, Pairing::interleaved);
}

TEST(ResolveGguf, ReadsT5) {
  const ModelSpec model =
      resolved(GgufFile::small("t5").u32("$.attention.relative_buckets_count", 32));
  EXPECT_EQ(model.layers.front().encoding, LayerEncoding::t5_bias);
  const auto& bias = std::get<T5Bias>(model.relative_bias.value());
  EXPECT_EQ(bias.buckets, (T5Buckets{.buckets = 32,
                                     .max_distance = 128,
                                     .direction = T5Direction::bidirectional,
                                     .rounding = T5Rounding::ggml}));
  EXPECT_EQ(bias.table.features, 4);
}

TEST(ResolveGguf, DerivesTheEncodingFromTheArchitecture) {
  EXPECT_EQ(resolved(with_layers("baichuan", 40)).layers.front().encoding, LayerEncoding::alibi);
  EXPECT_EQ(resolved(with_layers("baichuan", 32)).layers.front().encoding, LayerEncoding::rotary);
  EXPECT_EQ(resolved(GgufFile::small("mpt")).layers.front().encoding, LayerEncoding::learned);
  const ModelSpec jina =
      resolved(GgufFile::small("jina-bert-v2").boolean("$.attention.causal", false));
  EXPECT_EQ(std::get<Alibi>(jina.relative_bias.value()).form, AlibiForm::symmetric);
}

TEST(ResolveGguf, ReadsGemma2sSoftcap) {
  EXPECT_EQ(resolved(GgufFile::small("gemma2")).softcap, 50);
  EXPECT_EQ(resolved(GgufFile::small("gemma2").f32("$.attn_logit_softcapping", 30)).softcap, 30);
  EXPECT_EQ(resolved(GgufFile::small("llama")).softcap, std::nullopt);
}

TEST(ResolveGguf, ReportsMissingKeys) {
  const auto said = [](const GgufFile& file) { return resolved(file).gguf->unstated; };
  EXPECT_EQ(said(GgufFile::small("llama")),
            std::vector<std::string>{"whether the checkpoint has dynamic NTK scaling, for which "
                                     "there is no key: the converter drops it"});
  EXPECT_EQ(said(yarn("qwen3", 4)),
            std::vector<std::string>{
                "whether the checkpoint rounds the ends of YaRN's ramp to whole pairs (truncate), "
                "as llama.cpp does, and a factor on cos and sin of its own (attention_factor)"});
  const GgufFile falcon = GgufFile::small("falcon-h1").f32("$.rope.freq_base", 1e11F);
  EXPECT_EQ(said(falcon).back(),
            "falcon-h1.rope.freq_base is a float32: 99999997952 is what the checkpoint's base "
            "rounds to, which may be 1e+11");
}

TEST(ResolveGguf, RefusesBadValues) {
  test::refused(resolve(GgufFile::small("llmao")),
                {"GGUF: general.architecture must be one of the 153 that llama.cpp has at "
                 "0c1e5709, got 'llmao'"},
                unsupported);
  test::refused(resolve(GgufFile::small("lama")), {"did you mean llama?"}, unsupported);
  test::refused(resolve(GgufFile::small("clip")), {"'clip': a tower"}, unsupported);
  test::refused(resolve(GgufFile()), {"general.architecture must be given as a string, got none"},
                malformed);
  test::refused(resolve(GgufFile().u32("general.architecture", 1)), {"got uint32"}, malformed);
  const GgufFile second = GgufFile::small("llama").u32("split.no", 1).u32("split.count", 3);
  test::refused(resolve(second), {"whose name ends in -00001-of-00003.gguf, got split.no 1"},
                unsupported);
  const GgufFile first = GgufFile::small("llama").u32("split.no", 0).u32("split.count", 3);
  EXPECT_TRUE(resolve(first));
  test::refused(resolve(GgufFile::small("llama").text("$.rope.scaling.type", "dynamic")),
                {"llama.rope.scaling.type must be none, linear, yarn or longrope, got "
                 "'dynamic'"},
                unsupported);
  test::refused(resolve(GgufFile::small("llama").u32("$.rope.dimension_count", 32)),
                {"llama.rope.dimension_count must be the width of a head, 64"}, malformed);
  test::refused(resolve(GgufFile::small("llama").text("$.rope.freq_base", "1e6")),
                {"llama.rope.freq_base must be a number, got a value of type string"}, malformed);
  test::refused(resolve(GgufFile::small("llama").f32("$.rope.freq_base", 0)),
                {"GGUF: base (rope_theta) must be finite and > 1, got 0"}, malformed);
  test::refused(resolve(with_layers("llama", 0)), {"llama.block_count must be >= 1, got 0"},
                malformed);
  test::refused(resolve(with_layers("llama", 5000)), {"must be at most 4096"}, malformed);
  test::refused(resolve(GgufFile().text("general.architecture", "llama")),
                {"llama.block_count must be given, got none"}, malformed);
}

TEST(ResolveGguf, AppliesAndChecksOptions) {
  const GgufFile file = GgufFile::small("llama");
  EXPECT_EQ(only_spec(resolved(file, {.numerics = Numerics::ggml})).numerics, Numerics::ggml);
  test::refused(resolve(file, {.numerics = Numerics::transformers}),
                {"numerics must be exact or ggml"});
  test::refused(resolve(file, {.numerics = Numerics::vllm}), {"got vllm"});
  test::refused(resolve(file, {.context_tokens = 0}), {"context_tokens must be >= 1, got 0"});
  EXPECT_EQ(
      resolved(file, {.context_tokens = 5000}).warnings,
      std::vector<std::string>{"a context of 5000 tokens is beyond llama.context_length, 4096"});
}

TEST(ResolveGguf, AcceptsTheCommonArchitectures) {
  EXPECT_EQ(gguf_commit(), "0c1e5709");
  for (const std::string_view name :
       {"llama",   "llama4",   "deci",      "falcon",      "grok",     "gpt2",      "gptneox",
        "mpt",     "baichuan", "starcoder", "bert",        "neo-bert", "bloom",     "stablelm",
        "qwen",    "phi2",     "plamo",     "gemma",       "mamba",    "command-r", "dbrx",
        "olmo",    "openelm",  "arctic",    "chatglm",     "bitnet",   "nemotron",  "exaone",
        "rwkv7",   "granite",  "chameleon", "bailingmoe2", "dots1",    "arcee",     "hy_v3",
        "smollm3", "gpt-oss",  "lfm2",      "dream",       "seed_oss", "apertus",   "minimax-m2",
        "cogvlm",  "mistral3", "eagle3",    "talkie",      "nanbeige", "pockettts"}) {
    EXPECT_TRUE(resolve(GgufFile::small(name))) << name;
  }
}

}  // namespace
}  // namespace rotary
