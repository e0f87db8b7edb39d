// SPDX-License-Identifier: Apache-2.0
// Composes attention from the library's calls, on float64 tensors. For each encoding and mask,
// results and gradients equal the reference.
#include "reference/attention.hpp"

#include <gtest/gtest.h>

#include "rotary/frequencies.hpp"
#include "support/attention/calls.hpp"
#include "support/attention/samples.hpp"
#include "support/result.hpp"

namespace rotary {
namespace {

using reference::Attention;
using reference::AttentionInputs;
using reference::Heads;
using test::AttentionCall;
using test::AttentionNumbers;
using test::AttentionShape;
using test::EncodingSample;
using test::MaskSample;

std::size_t size(std::int64_t number) { return static_cast<std::size_t>(number); }

// For each query and key, whether the query sees the key. Compares indices, where the reference
// compares positions.
std::vector<bool> seen(const AttentionInputs& inputs, const reference::Mask& mask) {
  const std::int64_t queries = inputs.q.extents.tokens;
  const std::int64_t keys = inputs.k.extents.tokens;
  std::vector<bool> all;
  for (std::int64_t query = 0; query < inputs.q.extents.batch * queries; ++query) {
    for (std::int64_t j = 0; j < keys; ++j) {
      const std::int64_t distance = query % queries + keys - queries - j;
      const std::size_t key = size(query / queries * keys + j);
      bool sink = j < mask.sinks;
      bool sees = mask.keys.empty() || mask.keys[key] != 0;
      if (!mask.key_documents.empty()) {
        const std::int64_t document = mask.key_documents[key];
        sees = sees && mask.query_documents[size(query)] == document;
        sink = sink || mask.key_documents[key - size(mask.sinks)] != document;
      }
      if (mask.order == reference::Order::causal && distance < 0) sees = false;
      if (!sink && mask.left && distance > *mask.left) sees = false;
      if (!sink && mask.right && -distance > *mask.right) sees = false;
      all.push_back(sees);
    }
  }
  return all;
}

AttentionNumbers by_calls(const AttentionInputs& inputs, const Attention& attention,
                          const Heads& d_out) {
  AttentionCall call{
      .inputs = inputs, .attention = attention, .seen = seen(inputs, attention.mask)};
  if (const auto& rotary = attention.encoding.rotary) {
    call.frequencies = test::value_of(
        make_frequencies(rotary->window, rotary->inv_freq, rotary->attention_factor));
    call.frequencies->xpos = rotary->xpos;
  }
  return test::by_calls(call, d_out);
}

// A pair of q or k is at most sqrt(2) long, and 1.2 times as long when rotated. Its cos and sin are
// off by 2^-50 (xPos: by less than 1.3 times as much), and by a phase that grows with the position.
// In the product only the phase of the distance remains, 2π 7 2^-65 < 2^-59. So a product of 2
// pairs is off by at most 12 * 2^-49. Sums of at most 9 terms below 2 lose 2^-47 and biases below
// 2^3 lose 2^-48, together less than 2^-46. CoPE's gates and the 4 rows that they cross magnify an
// error by less than 2^4. Softmax and sums of weights below 1 magnify it by 2. Measured: 2^-50.
double bound(const Attention& attention) {
  const double score = (attention.encoding.rotary ? 12 * 0x1p-49 : 0) + 0x1p-46;
  return score * (attention.encoding.cope.empty() ? 2 : 32);
}

// The error of gradients, if weights are off by e. For a key with Shaw's value vector a', Σ_f d_out
// (v + a') is below 2 * 3. So a score's gradient is off by 12 e, and a row of such gradients by
// 2^6 e. A gradient sums at most 32 rows, times numbers below 2. The gradient of KERPLE's exponent
// sums 8 rows, times numbers below 2^4. So no gradient is off by more than 2^13 e.
// Measured: 2^-49.
constexpr double gradient_factor = 0x1p13;

void expect_near(const AttentionNumbers& got, const AttentionNumbers& expected, double bound) {
  struct Row {
    const char* name;
    std::vector<double> AttentionNumbers::*numbers;
    double factor = gradient_factor;
  };
  for (const auto& [name, numbers, factor] :
       {Row{"weights", &AttentionNumbers::weights, 1},
        Row{"log_sum_exp", &AttentionNumbers::log_sum_exp, 1},
        Row{"out", &AttentionNumbers::out, 1}, Row{"q", &AttentionNumbers::d_q},
        Row{"k", &AttentionNumbers::d_k}, Row{"v", &AttentionNumbers::d_v},
        Row{"parameters", &AttentionNumbers::d_parameters},
        Row{"shaw keys", &AttentionNumbers::d_shaw_keys},
        Row{"shaw values", &AttentionNumbers::d_shaw_values},
        Row{"cope", &AttentionNumbers::d_cope}}) {
    ASSERT_LE(test::largest_difference(got.*numbers, expected.*numbers), bound * factor) << name;
  }
}

TEST(AttentionOfCalls, EqualsTheReference) {
  for (const AttentionShape& shape : test::attention_shapes) {
    const AttentionInputs inputs = test::random_inputs(shape, 30);
    const Heads d_out = test::random_heads(test::out_extents(inputs), 33);
    for (const MaskSample& mask : test::attention_masks()) {
      for (const EncodingSample& encoding : test::attention_encodings(shape)) {
        SCOPED_TRACE(mask.name + ", " + encoding.name);
        const Attention given = test::with_encoding(mask, encoding);
        ASSERT_NO_FATAL_FAILURE(expect_near(by_calls(inputs, given, d_out),
                                            test::by_reference(inputs, given, d_out),
                                            bound(given)));
      }
    }
  }
}

TEST(AttentionOfCalls, EqualsTheReferenceFarAway) {
  const AttentionShape shape;
  const AttentionInputs inputs = test::random_inputs(shape, 31);
  const Heads d_out = test::random_heads(test::out_extents(inputs), 34);
  for (const std::int64_t shift : {std::int64_t{8191}, -(std::int64_t{1} << 31) - 7}) {
    for (const EncodingSample& encoding : test::attention_encodings(shape)) {
      SCOPED_TRACE(encoding.name);
      Attention given = test::with_encoding(test::attention_masks()[1], encoding);
      if (given.encoding.rotary && given.encoding.rotary->xpos)
        given.encoding.rotary->xpos->center += static_cast<double>(shift);
      if (encoding.name == "alibi key_position") continue;  // its biases grow with the shift
      test::PositionLists at = test::position_lists(inputs, given);
      for (std::int64_t& position : at.queries) position += shift;
      for (std::int64_t& position : at.keys) position += shift;
      given.query_positions = at.queries;
      given.key_positions = at.keys;
      ASSERT_NO_FATAL_FAILURE(expect_near(by_calls(inputs, given, d_out),
                                          test::by_reference(inputs, given, d_out), bound(given)));
    }
  }
}

}  // namespace
}  // namespace rotary
