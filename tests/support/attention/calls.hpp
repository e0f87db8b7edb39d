// SPDX-License-Identifier: Apache-2.0
// Computes attention on float64 tensors. The library's calls apply the encoding and give its
// gradients. Plain sums and softmax do the rest.
#pragma once

#include <optional>
#include <vector>

#include "reference/attention.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::test {

// Results and gradients of attention; empty if the case has none.
struct AttentionNumbers {
  std::vector<double> out = {};
  std::vector<double> log_sum_exp = {};  // -Inf if the query sees no key
  std::vector<double> d_q = {};
  std::vector<double> d_k = {};
  std::vector<double> d_v = {};
  std::vector<double> d_parameters = {};  // in the order of add_bias_gradient()
  std::vector<double> d_shaw_keys = {};
  std::vector<double> d_shaw_values = {};
  std::vector<double> d_cope = {};
};

// seen, [batch][queries][keys], replaces the mask of `attention`. Shaw and CoPE count positions
// from the first key on, even if documents restart them. Distances within a document stay right,
// and `seen` hides keys of other documents. Positions of all queries and keys must be given.
// query_factors are ignored.
struct AttentionCall {
  const reference::AttentionInputs& inputs;
  const reference::Attention& attention;
  std::optional<Frequencies> frequencies = {};  // empty: no rotary embedding
  std::vector<bool> seen;
};

// d_out: the loss's gradient with respect to out.
[[nodiscard]] AttentionNumbers by_calls(const AttentionCall& call, const reference::Heads& d_out);

// NaN if a list holds a NaN or the sizes differ: no bound allows it. Equal infinities differ by 0.
[[nodiscard]] double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace rotary::test
