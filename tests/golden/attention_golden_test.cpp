// SPDX-License-Identifier: Apache-2.0
// Attention with each encoding, and its gradients, as torch and its autograd compute them
// (attention_encodings.json): by the reference, and by the library's calls around a softmax.
#include <gtest/gtest.h>

#include "golden/attention_calls.hpp"
#include "golden/attention_file.hpp"
#include "reference/attention.hpp"
#include "rotary/relative.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using test::AttentionGolden;
using test::AttentionNumbers;

AttentionNumbers by_reference(const AttentionGolden& of) {
  const auto result = reference::attention(of.inputs, of.attention);
  const auto d = reference::attention_gradients(of.inputs, of.attention, of.d_out);
  AttentionNumbers numbers{.out = result.out.values,
                           .log_sum_exp = result.log_sum_exp,
                           .d_q = d.q.values,
                           .d_k = d.k.values,
                           .d_v = d.v.values,
                           .d_shaw_keys = d.shaw_keys,
                           .d_shaw_values = d.shaw_values,
                           .d_cope = d.cope};
  if (of.attention.encoding.bias) numbers.d_parameters = test::parameter_gradients(of, d.bias);
  return numbers;
}

TEST(AttentionGolden, TheReference) {
  for (const AttentionGolden& of : test::read_attention_goldens()) {
    SCOPED_TRACE(of.name);
    test::expect_equal(by_reference(of), of.wanted);
  }
}

TEST(AttentionGolden, TheLibrarysCalls) {
  for (const AttentionGolden& of : test::read_attention_goldens()) {
    SCOPED_TRACE(of.name);
    test::expect_equal(test::by_calls(of), of.wanted);
  }
}

}  // namespace
}  // namespace rotary
