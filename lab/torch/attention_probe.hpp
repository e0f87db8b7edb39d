// SPDX-License-Identifier: Apache-2.0
// AttentionProbe: sums over everything that one layer's attention computes while it watches.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace rotary::lab {

struct AttentionProbe {
  at::Tensor q_squares;      // [features], f64: of queries, over all tokens and heads
  at::Tensor k_squares;      // likewise of keys
  double distance = 0;       // tokens between a query and what it attends to, weighted so
  std::int64_t queries = 0;  // of all heads

  // q, k [batch, heads, tokens, features]; weights [batch, heads, tokens, tokens], causal.
  void see(const at::Tensor& q, const at::Tensor& k, const at::Tensor& weights);
};

}  // namespace rotary::lab
