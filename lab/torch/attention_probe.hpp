// SPDX-License-Identifier: Apache-2.0
// AttentionProbe: sums over all calls of one layer's attention.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace rotary::lab {

struct AttentionProbe {
  at::Tensor q_squares;      // [features], f64: sums of squares over queries of all heads
  at::Tensor k_squares;      // likewise over keys
  double distance = 0;       // sum over queries: weighted mean distance to the keys, in tokens
  std::int64_t queries = 0;  // over all heads

  // q, k [batch, heads, tokens, features]; weights [batch, heads, tokens, tokens], causal.
  void see(const at::Tensor& q, const at::Tensor& k, const at::Tensor& weights);
};

}  // namespace rotary::lab
