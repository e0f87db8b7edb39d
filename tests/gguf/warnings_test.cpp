// SPDX-License-Identifier: Apache-2.0
// Warnings about keys that llama.cpp does not read, and about contradictory lengths, factors and
// tensors. Follows llama.cpp at 0c1e5709: src/llama-arch.cpp lists the keys, load_hparams in
// src/llama-model.cpp reads them.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "gguf/resolving.hpp"
#include "rotary/gguf.hpp"

namespace rotary {
namespace {

using test::GgufFile;
using test::resolved;
using test::yarn;
using Warnings = std::vector<std::string>;

Warnings warnings_of(const GgufFile& file) { return resolved(file).warnings; }

// Stretches a context of 1024 tokens to 4096.
GgufFile longrope() {
  const std::vector<float> list(32, 2);
  return GgufFile::small("phi3")
      .u32("$.rope.scaling.original_context_length", 1024)
      .f32("$.rope.scaling.attn_factor", 1.1F)
      .tensor("rope_factors_long.weight", list)
      .tensor("rope_factors_short.weight", list);
}

void expect_warning(const GgufFile& file, std::string_view begin) {
  const Warnings warnings = warnings_of(file);
  ASSERT_EQ(warnings.size(), 1U) << begin;
  EXPECT_TRUE(warnings.front().starts_with(begin)) << warnings.front();
}

TEST(GgufWarnings, NameEachKeyThatNothingReads) {
  EXPECT_EQ(warnings_of(GgufFile::small("llama")
                            .f32("$.rope.wobble_factor", 3)
                            .text("$.rope.scaling.tipe", "yarn")
                            .i32s("$.attention.distance_buckets", {1, 2})
                            .f32("qwen2.rope.freq_base", 1e6F)),
            (Warnings{"llama.rope.wobble_factor is not read: llama.cpp has no such key for "
                      "architecture llama; got 3",
                      "llama.rope.scaling.tipe is not read: llama.cpp has no such key for "
                      "architecture llama; got 'yarn'; did you mean llama.rope.scaling.type?",
                      "llama.attention.distance_buckets is not read: llama.cpp has no such key for "
                      "architecture llama; got a value of type array",
                      "qwen2.rope.freq_base is not read: llama.cpp has no such key for "
                      "architecture llama; got 1e+06"}));
}

TEST(GgufWarnings, NameKeysThatAnotherArchitectureReads) {
  expect_warning(GgufFile::small("qwen3").f32("$.rope.freq_base_swa", 1e4F),
                 "qwen3.rope.freq_base_swa is not read");
  expect_warning(GgufFile::small("llama").f32("$.rope.scaling.yarn_log_multiplier", 0.1F),
                 "llama.rope.scaling.yarn_log_multiplier is not read");
  expect_warning(GgufFile::small("llama").f32("$.attention.temperature_scale", 0.1F),
                 "llama.attention.temperature_scale is not read");
  expect_warning(GgufFile::small("gpt2").f32("$.attention.max_alibi_bias", 8),
                 "gpt2.attention.max_alibi_bias is not read");
}

TEST(GgufWarnings, IgnoreUnrelatedKeys) {
  for (const std::string_view architecture : {"llama", "gpt2", "t5"}) {
    GgufFile file = GgufFile::small(architecture);
    if (architecture == "t5") file.u32("$.attention.relative_buckets_count", 32);
    EXPECT_EQ(warnings_of(file.f32("$.attention.layer_norm_rms_epsilon", 1e-5F)
                              .u32("$.attention.head_count_kv", 2)
                              .u32("$.attention.value_length", 64)
                              .u32("$.attention.indexer.top_k", 64)
                              .u32("$.attention.sliding_window", 4096)
                              .u32("$.rope.dimension_count", 64)
                              .boolean("$.rope.scaling.finetuned", true)),
              Warnings{})
        << architecture;
  }
}

TEST(GgufWarnings, CountKeysBeyondTheSixteenth) {
  GgufFile file = GgufFile::small("llama");
  for (int i = 0; i < 20; ++i) file.u32("$.rope.of_others_" + std::to_string(i), 1);
  const Warnings warnings = warnings_of(file);
  ASSERT_EQ(warnings.size(), 17U);
  EXPECT_EQ(warnings.back(), "4 more keys about rope and attention are not read");
}

TEST(GgufWarnings, NameAnOriginalContextWithoutScaling) {
  const auto of = [](std::string_view architecture) {
    return GgufFile::small(architecture).u32("$.rope.scaling.original_context_length", 1024);
  };
  const std::vector<float> weights(4, 1);
  expect_warning(
      of("phi3").tensor("output.weight", weights),
      "phi3.rope.scaling.original_context_length 1024 is below phi3.context_length 4096, "
      "and nothing stretches the one to the other");
  expect_warning(of("qwen3").text("$.rope.scaling.type", "yarn"),
                 "qwen3.rope.scaling.original_context_length 1024 is below");
  expect_warning(of("qwen3").text("$.rope.scaling.type", "yarn").f32("$.rope.scaling.factor", 1),
                 "qwen3.rope.scaling.original_context_length 1024 is below");
  expect_warning(GgufFile::small("phi3")
                     .f32("$.rope.scaling.attn_factor", 1.19F)
                     .tensor("output.weight", weights),
                 "phi3.rope.scaling.attn_factor 1.19");
  EXPECT_EQ(warnings_of(of("phi3")), Warnings{});  // a vocabulary without tensors
  EXPECT_EQ(warnings_of(of("llama").tensor("rope_freqs.weight", std::vector<float>(32, 2))),
            Warnings{});
}

TEST(GgufWarnings, NameAFactorThatContradictsLengths) {
  EXPECT_EQ(warnings_of(yarn("qwen3", 4)), Warnings{});
  EXPECT_EQ(warnings_of(yarn("qwen3", 8)),
            (Warnings{"qwen3.rope.scaling.factor 8 is not qwen3.context_length / "
                      "qwen3.rope.scaling.original_context_length = 4; the factor is used"}));
  const auto factor = [](std::string_view type) {
    GgufFile file = GgufFile::small("llama").f32("$.rope.scaling.factor", 4);
    return type.empty() ? file : file.text("$.rope.scaling.type", type);
  };
  EXPECT_EQ(warnings_of(factor("linear")), Warnings{});
  expect_warning(
      factor("none"),
      "llama.rope.scaling.factor 4 has no effect, because llama.rope.scaling.type is none");
  expect_warning(factor("yarn"), "llama.rope.scaling.original_context_length is absent");
  expect_warning(factor("").u32("$.rope.scaling.original_context_length", 1024),
                 "llama.rope.scaling.original_context_length 1024 has no effect: "
                 "llama.rope.scaling.type is absent, and so linear");
}

TEST(GgufWarnings, NameContradictionsOfLongRopeLists) {
  EXPECT_EQ(warnings_of(longrope()), Warnings{});
  expect_warning(longrope().f32("$.rope.scaling.factor", 4),
                 "phi3.rope.scaling.factor 4 divides the frequencies once more");
  const std::vector<float> list(32, 2);
  const GgufFile bare = GgufFile::small("phi3")
                            .tensor("rope_factors_long.weight", list)
                            .tensor("rope_factors_short.weight", list);
  expect_warning(bare, "tensor rope_factors_long.weight is never used");
  // sqrt(1 + ln 4 / ln 1024)
  expect_warning(GgufFile(bare).u32("$.rope.scaling.original_context_length", 1024),
                 "phi3.rope.scaling.attn_factor is absent, and cos and sin are multiplied by 1; "
                 "LongRoPE's factor of phi3.rope.scaling.original_context_length and "
                 "phi3.context_length is 1.09544511501");
}

}  // namespace
}  // namespace rotary
