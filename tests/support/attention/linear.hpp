// SPDX-License-Identifier: Apache-2.0
// Calls linear_attend on random tensors. Compares each element with the reference, within the bound
// of include/rotary/numeric_contract.hpp.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "rotary/linear_attention.hpp"
#include "support/tensor.hpp"

namespace rotary::test {

// The inputs, besides tensors, of one call or of several calls with a state.
struct LinearCase {
  FeatureMap map;
  LinearMask mask = LinearMask::causal;
  std::optional<HeadWindow> window = {};    // empty: no rotation
  std::int64_t first_position = 0;          // the position of token t is first_position + t
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
  std::int64_t key_tokens = -1;  // -1: the same as tokens
  std::int64_t heads = 1;        // of q
  std::int64_t key_heads = 1;
  std::int64_t head_dim = 4;
  std::int64_t v_features = 4;
  Layout layout = Layout::bthd;
};

[[nodiscard]] Qkv random_qkv(const LinearShape& n, std::uint64_t seed);

[[nodiscard]] Tensor out_for(const Qkv& qkv, Layout layout = Layout::bthd);

[[nodiscard]] SegmentMap segments_of(const LinearCase& of, std::int64_t batch);

// Rotations of `tokens` tokens from of.first_position on.
[[nodiscard]] std::optional<Rotations> rotations_for(const LinearCase& of, DType dtype,
                                                     std::int64_t tokens);

// Runs linear_attend once for the entire case, without a state.
[[nodiscard]] Tensor attended(const LinearCase& of, const Qkv& qkv, Layout layout = Layout::bthd);

// Compares out with tokens [first, first + out's tokens) of the entire case.
[[nodiscard]] testing::AssertionResult is_linear_attention(const Tensor& out, std::int64_t first,
                                                           const LinearCase& of, const Qkv& qkv);

}  // namespace rotary::test
