// SPDX-License-Identifier: Apache-2.0
// The NTK rules: fixed alpha, by parts, mixed, doubling and dynamic.
#include <cstdint>
#include <limits>
#include <utility>

#include "support/refusals.hpp"
#include "support/resolving.hpp"
#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

using test::expect_refused;
using test::spec_with;

TEST(NtkRule, RefusesOnePairAndExtremeBases) {
  RotarySpec one_pair = spec_with(10000, 64, NtkScaling{.alpha = 2});
  one_pair.rotary_dim = 2;
  expect_refused(one_pair, {"rotary_dim >= 4", "got 2"});
  expect_refused(spec_with(1e200, 64, NtkScaling{.alpha = 1e200}), {"alpha", "base"});
  expect_refused(spec_with(2, 64, NtkScaling{.alpha = 1e-3}), {"alpha", "base"});
}

using test::with;

constexpr NtkByPartsScaling llama{.factor = 8, .original_context_tokens = 2048};

// NTK-by-parts selects a rule by a pair's turns within 2048 tokens. The head has 64 features.
TEST(NtkByPartsRule, TheTurnsOfAPairSelectItsRule) {
  const auto got = test::frequencies_with(llama).inv_freq;
  const auto kept = test::frequencies_with(NoScaling{}).inv_freq;
  const auto ntk = test::frequencies_with(NtkScaling{.alpha = 8}).inv_freq;
  const auto linear = test::frequencies_with(LinearScaling{.factor = 8}).inv_freq;
  EXPECT_EQ(got[0], kept[0]);      // 326 turns
  EXPECT_EQ(got[10], kept[10]);    // 18
  EXPECT_EQ(got[18], ntk[18]);     // 1.8
  EXPECT_EQ(got[22], linear[22]);  // 0.58
  EXPECT_EQ(got[31], linear[31]);
}

TEST(NtkByPartsRule, RefusesOnePairAndExtremeBases) {
  expect_refused(test::spec_with(10000, 2, llama), {"rotary_dim >= 4", "got 2"});
  expect_refused(test::spec_with(2, 64, with(llama, &NtkByPartsScaling::factor, 1e-3)),
                 {"base * factor^(d/(d-2)) finite and > 1", "0.001"});
}

TEST(MixedNtkRule, RefusesExtremeBases) {
  expect_refused(MixedNtkScaling{.factor = 1e-4}, {"base * factor finite and > 1", "1e-04"});
  expect_refused(test::spec_with(1e300, 64, MixedNtkScaling{.factor = 1e300}), {"base * factor"});
}

// Qwen's dynamic NTK, whose base grows with each doubling of the context.

constexpr DoublingNtkScaling qwen{.original_context_tokens = 2048};

Frequencies in_context(std::int64_t context_tokens) {
  return test::frequencies_with(qwen, context_tokens);
}

// alpha of get_ntk_alpha in modeling_qwen.py, evaluated by Python.
TEST(DoublingNtkRule, IsNtkWithTheAlphaOfQwen) {
  const std::pair<std::int64_t, double> alphas[] = {
      {1, 1},    {2047, 1},  {2048, 1},   {2049, 3},   {4096, 3},  {4097, 7},
      {8192, 7}, {8193, 15}, {16384, 15}, {16385, 31}, {32769, 63}};
  for (const auto& [context, alpha] : alphas) {
    EXPECT_EQ(in_context(context).inv_freq,
              test::frequencies_with(NtkScaling{.alpha = alpha}).inv_freq)
        << context;
  }
}

TEST(DoublingNtkRule, SaysWhichContextsHaveItsFrequencies) {
  EXPECT_EQ(in_context(5).contexts, (ContextRange{.first = 1, .last = 2048}));
  EXPECT_EQ(in_context(4096).contexts, (ContextRange{.first = 2049, .last = 4096}));
  EXPECT_EQ(in_context(5000).contexts, (ContextRange{.first = 4097, .last = 8192}));
  constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(in_context(longest).contexts.last, longest);
}

TEST(DoublingNtkRule, RefusesAMissingContextAndExtremeBases) {
  test::expect_refused(qwen, {"doubling_ntk", "context_tokens"});
  test::expect_refused(test::spec_with(10000, 2, qwen), {"rotary_dim"}, 1);
  test::expect_refused(test::spec_with(1e308, 128, qwen), {"base finite", "1048576"}, 1 << 20);
}

// Dynamic NTK's base follows the context length. HunYuan's rule of the same name has a fixed base.

using test::frequencies_with;
using test::llama_with;

constexpr DynamicNtkScaling vicuna{.factor = 4, .original_context_tokens = 2048};

TEST(DynamicNtkRule, ChangesNothingWithinTheOriginalContext) {
  const auto unscaled = frequencies_with(NoScaling{}).inv_freq;
  for (const std::int64_t context : {1, 100, 2048}) {
    const Frequencies got = frequencies_with(vicuna, context);
    EXPECT_EQ(got.inv_freq, unscaled);
    EXPECT_EQ(got.contexts, (ContextRange{.first = 1, .last = 2048}));
  }
}

TEST(DynamicNtkRule, GivesEachLongerContextItsOwnFrequencies) {
  EXPECT_TRUE(depends_on_context(vicuna));
  const Frequencies longer = frequencies_with(vicuna, 4096);
  EXPECT_EQ(longer.contexts, (ContextRange{.first = 4096, .last = 4096}));
  // The slowest pair rotates 4 * 4096 / 2048 - 3 = 5 times slower. The fastest does not change.
  EXPECT_NEAR(frequencies_with(NoScaling{}).inv_freq.back() / longer.inv_freq.back(), 5, 1e-12);
  EXPECT_EQ(longer.inv_freq.front(), 1);
  EXPECT_TRUE(rotate_alike(longer, frequencies_with(vicuna, 4096)));
  EXPECT_FALSE(rotate_alike(longer, frequencies_with(vicuna, 4097)));
  EXPECT_FALSE(rotate_alike(longer, frequencies_with(vicuna, 2048)));
  EXPECT_TRUE(rotate_alike(frequencies_with(vicuna, 1), frequencies_with(vicuna, 2048)));
}

TEST(DynamicNtkRule, RefusesInvalidContextsAndExtremeBases) {
  expect_refused(vicuna, {"context_tokens must be given", "dynamic", "got none"});
  expect_refused(vicuna, {"context_tokens must be >= 1", "got 0"}, 0);
  expect_refused(test::spec_with(10000, 2, vicuna), {"rotary_dim >= 4", "got 2"}, 4096);
  expect_refused(test::spec_with(1e300, 4, vicuna), {"base finite", "4 and 1099511627776"},
                 std::int64_t{1} << 40);
}

// A config gives this rule's original context as max_position_embeddings.
TEST(DynamicNtkRule, IsReadFromAConfig) {
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

// resolve() checks the rule for the context that the caller asks about.
TEST(DynamicNtkRule, IsCheckedForTheContextOfTheOptions) {
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

TEST(DynamicNtkRule, IsNtkWithTheConfigsAlphaForHunYuan) {
  const ModelSpec model = test::resolved(config_of("hunyuan_v1_dense", hunyuan_members));
  EXPECT_EQ(model.rotary.front().spec.scaling, Scaling(NtkScaling{.alpha = 1000}));
  ASSERT_EQ(model.warnings.size(), 1U);
  EXPECT_NE(model.warnings.front().find("factor, beta_fast"), std::string::npos);
  // Without alpha the rule is ordinary dynamic NTK. HunYuan's code treats an alpha of 0 as absent.
  for (const std::string_view members :
       {R"("type": "dynamic", "factor": 2)", R"("type": "dynamic", "factor": 2, "alpha": 0)"}) {
    EXPECT_EQ(test::resolved_rotary(config_of("hunyuan_v1_dense", members)).scaling,
              Scaling(DynamicNtkScaling{.factor = 2, .original_context_tokens = 4096}));
  }
}

// For other families Transformers ignores alpha and vLLM does not, so a config with alpha is
// refused.
TEST(DynamicNtkRule, RefusesAlphaForOtherFamilies) {
  test::not_supported(config_of("llama", R"("type": "dynamic", "factor": 2, "alpha": 8)"),
                      {"rope_scaling.alpha is not a key of rope_type 'dynamic'", "HunYuan"});
}

}  // namespace
}  // namespace rotary
