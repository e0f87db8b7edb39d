// SPDX-License-Identifier: Apache-2.0
// Dynamic NTK: a base that follows the length of the context, and HunYuan's fixed one of that name.
#include "support/refusals.hpp"
#include "support/resolving.hpp"
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_as_reference_for_many_specs;
using test::expect_refused;
using test::frequencies_with;
using test::llama_with;

constexpr DynamicNtkScaling vicuna{.factor = 4, .original_context_tokens = 2048};

TEST(DynamicNtkRule, AsReference) {
  for (const double factor : {0.5, 1.0, 2.0, 8.0, 1000.0}) {
    for (const std::int64_t context : {1, 2048, 2049, 4096, 131072, 1 << 30}) {
      expect_as_reference_for_many_specs(
          DynamicNtkScaling{.factor = factor, .original_context_tokens = 2048}, context, 4);
    }
  }
}

TEST(DynamicNtkRule, IsNoneWithinTheOriginalContext) {
  const auto unscaled = frequencies_with(NoScaling{}).inv_freq;
  for (const std::int64_t context : {1, 100, 2048}) {
    const Frequencies got = frequencies_with(vicuna, context);
    EXPECT_EQ(got.inv_freq, unscaled);
    EXPECT_EQ(got.contexts, (ContextRange{.first = 1, .last = 2048}));
  }
}

TEST(DynamicNtkRule, BeyondItEachLengthHasItsOwnFrequencies) {
  EXPECT_TRUE(depends_on_context(vicuna));
  const Frequencies longer = frequencies_with(vicuna, 4096);
  EXPECT_EQ(longer.contexts, (ContextRange{.first = 4096, .last = 4096}));
  // 4 * 4096 / 2048 - 3 = 5 times slower in the slowest pair, the fastest as ever.
  EXPECT_NEAR(frequencies_with(NoScaling{}).inv_freq.back() / longer.inv_freq.back(), 5, 1e-12);
  EXPECT_EQ(longer.inv_freq.front(), 1);
  EXPECT_TRUE(rotate_alike(longer, frequencies_with(vicuna, 4096)));
  EXPECT_FALSE(rotate_alike(longer, frequencies_with(vicuna, 4097)));
  EXPECT_FALSE(rotate_alike(longer, frequencies_with(vicuna, 2048)));
  EXPECT_TRUE(rotate_alike(frequencies_with(vicuna, 1), frequencies_with(vicuna, 2048)));
}

TEST(DynamicNtkRule, Refusals) {
  expect_refused(vicuna, {"context_tokens must be given", "dynamic", "got none"});
  expect_refused(vicuna, {"context_tokens must be >= 1", "got 0"}, 0);
  expect_refused(test::spec_with(10000, 2, vicuna), {"rotary_dim >= 4", "got 2"}, 4096);
  expect_refused(test::spec_with(1e300, 4, vicuna), {"base finite", "4 and 1099511627776"},
                 std::int64_t{1} << 40);
}

TEST(DynamicNtkRule, InASpec) {
  test::malformed_spec(R"({"rope_type": "dynamic", "factor": 4})",
                       {"original_max_position_embeddings must be given"});
  test::malformed_spec(R"({"rope_type": "dynamic", "factor": 4, "alpha": 2,
      "original_max_position_embeddings": 2048})",
                       {"scaling.alpha is not a key of rope_type 'dynamic'"});
}

// The original context of a config is max_position_embeddings.
TEST(DynamicNtkRule, InAConfig) {
  const auto model =
      test::resolved(llama_with(R"("rope_scaling": {"type": "dynamic", "factor": 2})"));
  EXPECT_EQ(model.rotary.front().spec.scaling,
            Scaling(DynamicNtkScaling{.factor = 2, .original_context_tokens = 4096}));
  EXPECT_TRUE(model.warnings.empty());
  test::not_supported(
      llama_with(R"("rope_scaling": {"type": "dynamic", "factor": 2,
          "original_max_position_embeddings": 2048})"),
      {"original_max_position_embeddings is not a key", "max_position_embeddings is the original"});
  test::malformed(llama_with(R"("rope_scaling": {"type": "dynamic"})"), {"factor must be given"});
  test::malformed(R"({"model_type": "llama", "head_dim": 64,
      "rope_scaling": {"type": "dynamic", "factor": 2}})",
                  {"max_position_embeddings must be given"});
  EXPECT_TRUE(test::warns(test::resolved(llama_with(R"("original_max_position_embeddings": 2048,
      "rope_scaling": {"type": "dynamic", "factor": 2})")),
                          "original_max_position_embeddings is ignored"));
}

// For any context that resolve() is asked about, the rule is checked for it.
TEST(DynamicNtkRule, IsCheckedForTheContextInQuestion) {
  const std::string config = R"({"model_type": "llama", "head_dim": 4, "rope_theta": 1e300,
      "max_position_embeddings": 2048, "rope_scaling": {"type": "dynamic", "factor": 4}})";
  EXPECT_TRUE(resolve(config));
  test::refused(resolve(config, {.context_tokens = std::int64_t{1} << 40}), {"base finite"},
                ErrorCode::malformed_input);
}

std::string config_of(std::string_view model_type, std::string_view members) {
  return test::model_with(model_type, test::member("rope_scaling", test::json_object(members)));
}

constexpr std::string_view hunyuan_members =
    R"("type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32, "beta_slow": 1,
       "mscale": 1.0, "mscale_all_dim": 1.0)";

TEST(DynamicNtkRule, OfHunYuanWithAlphaIsNtkOfThatAlpha) {
  const ModelSpec model = test::resolved(config_of("hunyuan_v1_dense", hunyuan_members));
  EXPECT_EQ(model.rotary.front().spec.scaling, Scaling(NtkScaling{.alpha = 1000}));
  ASSERT_EQ(model.warnings.size(), 1U);
  EXPECT_NE(model.warnings.front().find("factor, beta_fast"), std::string::npos);
  // Without alpha, or with the 0 that its code treats as absent, it is ordinary dynamic NTK.
  for (const std::string_view members :
       {R"("type": "dynamic", "factor": 2)", R"("type": "dynamic", "factor": 2, "alpha": 0)"}) {
    EXPECT_EQ(test::resolved_rotary(config_of("hunyuan_v1_dense", members)).scaling,
              Scaling(DynamicNtkScaling{.factor = 2, .original_context_tokens = 4096}));
  }
}

// Transformers' own dynamic rule would ignore alpha, vLLM would not: in any other family a config
// with alpha is refused.
TEST(DynamicNtkRule, OfOtherFamiliesWithAlphaIsRefused) {
  test::not_supported(config_of("llama", R"("type": "dynamic", "factor": 2, "alpha": 8)"),
                      {"rope_scaling.alpha is not a key of rope_type 'dynamic'", "HunYuan"});
}

}  // namespace
}  // namespace rotary
