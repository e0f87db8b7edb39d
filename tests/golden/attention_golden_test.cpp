// SPDX-License-Identifier: Apache-2.0
// Compares attention under each encoding with torch (attention_encodings.json): the reference, then
// the library's calls around a softmax, and their gradients.
#include <gtest/gtest.h>

#include "golden/attention_file.hpp"
#include "rotary/frequencies.hpp"
#include "support/attention/calls.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttentionGolden;

// The keys that each query sees. Compares positions, as the script that made the file does.
std::vector<bool> seen(const AttentionGolden& of) {
  const reference::Mask& mask = of.attention.mask;
  const auto keys = static_cast<std::size_t>(of.inputs.k.extents.tokens);
  const auto queries = static_cast<std::size_t>(of.inputs.q.extents.tokens);
  std::vector<bool> all;
  for (std::size_t i = 0; i < of.attention.query_positions.size(); ++i) {
    for (std::size_t key = 0; key < keys; ++key) {
      const std::size_t j = i / queries * keys + key;
      const std::int64_t relative = of.attention.key_positions[j] - of.attention.query_positions[i];
      const bool near =
          relative >= -mask.left.value_or(-relative) && relative <= mask.right.value_or(relative);
      const bool ordered = mask.order == reference::Order::bidirectional || relative <= 0;
      const bool token = mask.keys.empty() || mask.keys[j] != 0;
      const bool own =
          mask.key_documents.empty() || mask.key_documents[j] == mask.query_documents[i];
      all.push_back(near && ordered && token && own);
    }
  }
  return all;
}

TEST(AttentionGolden, TheReferenceAgreesWithTorch) {
  for (const AttentionGolden& of : test::read_attention_goldens()) {
    SCOPED_TRACE(of.name);
    const reference::AttentionResult got = reference::attention(of.inputs, of.attention);
    EXPECT_LE(test::largest_difference(got.out.values, of.wanted.out), test::attention_tolerance);
    EXPECT_LE(test::largest_difference(got.log_sum_exp, of.wanted.log_sum_exp),
              test::attention_tolerance);
  }
}

TEST(AttentionGolden, TheLibrarysCallsAgreeWithTorch) {
  for (const AttentionGolden& of : test::read_attention_goldens()) {
    SCOPED_TRACE(of.name);
    test::AttentionCall call{.inputs = of.inputs, .attention = of.attention, .seen = seen(of)};
    if (of.rotary) call.frequencies = test::value_of(make_frequencies(*of.rotary));
    test::expect_equal(test::by_calls(call, of.d_out), of.wanted);
  }
}

}  // namespace
}  // namespace rotary
