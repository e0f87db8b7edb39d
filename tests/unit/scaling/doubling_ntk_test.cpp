// SPDX-License-Identifier: Apache-2.0
// Qwen's dynamic NTK, whose base grows with each doubling of the context.
#include <cstdint>
#include <limits>
#include <utility>

#include "support/scaling_rules.hpp"

namespace rotary {
namespace {

constexpr DoublingNtkScaling qwen{.original_context_tokens = 2048};

Frequencies in_context(std::int64_t context_tokens) {
  return test::frequencies_with(qwen, context_tokens);
}

TEST(DoublingNtkRule, AsReference) {
  for (const std::int64_t context : {1, 2048, 2049, 5000, 1 << 20}) {
    test::expect_as_reference_for_many_specs(qwen, context, 4);
  }
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

TEST(DoublingNtkRule, Refuses) {
  test::expect_refused(qwen, {"doubling_ntk", "context_tokens"});
  test::expect_refused(test::spec_with(10000, 2, qwen), {"rotary_dim"}, 1);
  test::expect_refused(test::spec_with(1e308, 128, qwen), {"base finite", "1048576"}, 1 << 20);
}

}  // namespace
}  // namespace rotary
