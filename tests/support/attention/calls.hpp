// SPDX-License-Identifier: Apache-2.0
// Attention composed of the library's calls for each encoding, on float64 tensors, with plain sums
// and a plain softmax between them; and its gradients from the gradient calls.
#pragma once

#include <optional>
#include <vector>

#include "reference/attention.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::test {

// The results of attention and their gradients; those that a case lacks are empty. Parameters are
// in the order of add_bias_gradient().
struct AttentionNumbers {
  std::vector<double> out = {};
  std::vector<double> log_sum_exp = {};  // -Inf where the query sees nothing
  std::vector<double> weights = {};
  std::vector<double> d_q = {};
  std::vector<double> d_k = {};
  std::vector<double> d_v = {};
  std::vector<double> d_parameters = {};
  std::vector<double> d_shaw_keys = {};
  std::vector<double> d_shaw_values = {};
  std::vector<double> d_cope = {};
};

// Ignores the mask of `attention`: `seen` replaces it, [batch][queries][keys], at least one key for
// each query. Shaw and CoPE get the range that begins at the first key's position. If documents
// begin again, distances within one are right, and those across are masked.
struct AttentionCall {
  const reference::AttentionInputs& inputs;
  const reference::Attention& attention;
  std::optional<Frequencies> frequencies = {};  // of its rotary embedding
  std::vector<bool> seen;
};

// For a loss whose gradient in out is d_out.
[[nodiscard]] AttentionNumbers by_calls(const AttentionCall& call, const reference::Heads& d_out);
// Parameters by the library, from the reference's gradient of the scores.
[[nodiscard]] AttentionNumbers by_reference(const reference::AttentionInputs& inputs,
                                            const reference::Attention& attention,
                                            const reference::Heads& d_out);

// The gradients of the bias's parameters, from the gradient of the sum added to the scores,
// [batch][heads][queries][keys].
[[nodiscard]] std::vector<double> parameter_gradients(const reference::AttentionInputs& inputs,
                                                      const reference::Attention& attention,
                                                      const std::vector<double>& d_bias);

// NaN, which is neither below nor above a bound, where one holds NaN or more numbers. Equal
// infinities do not differ.
[[nodiscard]] double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace rotary::test
