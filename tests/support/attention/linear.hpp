// SPDX-License-Identifier: Apache-2.0
// One call of linear_attend in memory of its own, and its comparison with the reference, element by
// element, within the bound that include/rotary/numeric_contract.hpp promises and no wider.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "rotary/linear_attention.hpp"
#include "support/tensor.hpp"

namespace rotary::test {

// The keys before the first one of a call: none, or those of earlier calls of the same test.
struct LinearCase {
  FeatureMap map;
  LinearMask mask = LinearMask::causal;
  std::optional<HeadWindow> window = {};    // of the features that turn
  std::int64_t first_position = 0;          // token t stands at first_position + t
  std::vector<std::int32_t> segments = {};  // [batch][tokens] or [tokens]; empty: none
  double epsilon = 1e-6;
};

struct Qkv {
  Tensor q;
  Tensor k;
  Tensor v;

  [[nodiscard]] LinearHeads heads() const { return {q.view(), k.view(), v.view()}; }
};

struct LinearShape {
  DType dtype = DType::f32;
  std::int64_t batch = 1;
  std::int64_t tokens = 0;
  std::int64_t key_tokens = -1;  // -1: as many as tokens
  std::int64_t heads = 1;        // of q
  std::int64_t key_heads = 1;
  std::int64_t head_dim = 4;
  std::int64_t v_features = 4;
  Layout layout = Layout::bthd;
};

[[nodiscard]] Qkv random_qkv(const LinearShape& n, std::uint64_t seed);

// Zeros, with the extents of out.
[[nodiscard]] Tensor out_for(const Qkv& qkv, Layout layout = Layout::bthd);

[[nodiscard]] SegmentMap segments_of(const LinearCase& of, std::int64_t batch);

// The rotations of all tokens, and options without a state.
[[nodiscard]] std::optional<Rotations> rotations_for(const LinearCase& of, DType dtype,
                                                     std::int64_t tokens);

// linear_attend of a whole case.
[[nodiscard]] Tensor attended(const LinearCase& of, const Qkv& qkv, Layout layout = Layout::bthd);

// Rows [first, first + out's tokens) of the whole, in every batch row and head.
[[nodiscard]] testing::AssertionResult is_linear_attention(const Tensor& out, std::int64_t first,
                                                           const LinearCase& of, const Qkv& qkv);

}  // namespace rotary::test
