// SPDX-License-Identifier: Apache-2.0
// Rotates q and k in place inside a fused [B, T, H + 2 Hkv, D] projection and leaves v untouched.
// Run: fused_qkv
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int main() {
  constexpr std::int64_t batch = 2;
  constexpr std::int64_t tokens = 5;
  constexpr std::int64_t q_heads = 8;
  constexpr std::int64_t kv_heads = 2;
  constexpr std::int64_t features = 64;
  const rotary::Extents all{batch, tokens, q_heads + 2 * kv_heads, features};
  const rotary::Strides strides = strides_bthd(all);  // q, k and v are heads of this tensor

  std::vector<float> qkv(static_cast<std::size_t>(all.batch * strides.batch));
  for (std::size_t i = 0; i < qkv.size(); ++i) qkv[i] = static_cast<float>(i % 31) - 15.0F;
  const std::vector<float> before = qkv;

  const auto frequencies = rotary::make_frequencies(
      {.head_dim = features, .base = 10000.0, .pairing = rotary::Pairing::half});
  if (!frequencies) return report(frequencies.error().message);
  const auto rotations = rotary::make_rotations(
      *frequencies, rotary::ConsecutivePositions{.first = 100, .tokens = tokens});
  if (!rotations) return report(rotations.error().message);

  const rotary::Extents q_extents{batch, tokens, q_heads, features};
  const rotary::Extents k_extents{batch, tokens, kv_heads, features};
  const auto status = rotate_qk(
      {qkv.data(), rotary::DType::f32, q_extents, strides},
      {qkv.data() + q_heads * features, rotary::DType::f32, k_extents, strides}, *rotations);
  if (!status) return report(status.error().message);

  // Rotating all heads of a copy, including v, gives q and k the same bits.
  std::vector<float> whole = before;
  const rotary::HeadsView heads{whole.data(), rotary::DType::f32, all, strides};
  if (const auto done = rotate(heads, heads, *rotations); !done)
    return report(done.error().message);
  constexpr std::int64_t turning = (q_heads + kv_heads) * features;
  for (std::int64_t token = 0; token < batch * tokens; ++token) {
    const std::int64_t first = token * strides.token;
    const auto q = qkv.begin() + first;
    const auto v = q + turning;
    if (!std::equal(q, v, whole.begin() + first)) return report("q and k must rotate");
    if (!std::equal(v, q + strides.token, before.begin() + first + turning))
      return report("v must not change");
  }
  const std::size_t k = qkv.size() - 2 * kv_heads * features + 1;  // of the last token
  std::printf("k at position 104: %.2f -> %.3f; v as before\n", double{before[k]}, double{qkv[k]});
}
