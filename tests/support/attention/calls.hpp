// SPDX-License-Identifier: Apache-2.0
// Attention for each encoding, composed of the library's calls on float64 tensors with plain sums
// and softmax; and its gradients from the gradient calls.
#pragma once

#include <optional>
#include <vector>

#include "reference/attention.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::test {

// Attention's results and gradients; empty if a case lacks them. Parameters are in the order of
// add_bias_gradient().
struct AttentionNumbers {
  std::vector<double> out = {};
  std::vector<double> log_sum_exp = {};  // -Inf if the query sees no key
  std::vector<double> weights = {};
  std::vector<double> d_q = {};
  std::vector<double> d_k = {};
  std::vector<double> d_v = {};
  std::vector<double> d_parameters = {};
  std::vector<double> d_shaw_keys = {};
  std::vector<double> d_shaw_values = {};
  std::vector<double> d_cope = {};
};

// `seen` replaces the mask of `attention`: [batch][queries][keys], with at least one key for each
// query. Shaw and CoPE use positions from the first key's on. If documents restart positions,
// distances are right within a document, and `seen` hides keys of other documents.
struct AttentionCall {
  const reference::AttentionInputs& inputs;
  const reference::Attention& attention;
  std::optional<Frequencies> frequencies = {};  // of its rotary embedding
  std::vector<bool> seen;
};

// d_out: the loss's gradient with respect to out.
[[nodiscard]] AttentionNumbers by_calls(const AttentionCall& call, const reference::Heads& d_out);
// The library computes the parameters' gradients from the reference's gradient of the scores.
[[nodiscard]] AttentionNumbers by_reference(const reference::AttentionInputs& inputs,
                                            const reference::Attention& attention,
                                            const reference::Heads& d_out);

// The gradients of the bias's parameters, from the gradient of the biased scores,
// [batch][heads][queries][keys].
[[nodiscard]] std::vector<double> parameter_gradients(const reference::AttentionInputs& inputs,
                                                      const reference::Attention& attention,
                                                      const std::vector<double>& d_bias);

// NaN, within no bound, if either list holds a NaN or sizes differ. Equal infinities do not differ.
[[nodiscard]] double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace rotary::test
