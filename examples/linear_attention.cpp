// SPDX-License-Identifier: Apache-2.0
// Linear attention with rotary embedding in the numerator. Runs a prompt, then one token at a time,
// with a state of constant size. Running all tokens at once must give the same result.
// Run: linear_attention
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "rotary/rotary.hpp"

constexpr std::int64_t tokens = 300;
constexpr std::int64_t prompt = 200;
constexpr std::int64_t heads = 2;
constexpr std::int64_t features = 32;

// Tokens [first, first + count) of [tokens, heads, features].
rotary::HeadsView part(std::vector<float>& values, std::int64_t first, std::int64_t count) {
  const rotary::Extents n{.tokens = count, .heads = heads, .features = features};
  return {values.data() + first * heads * features, rotary::DType::f32, n, strides_bthd(n)};
}

int main() {
  std::vector<float> q(tokens * heads * features);
  for (std::size_t i = 0; i < q.size(); ++i) q[i] = std::sin(static_cast<float>(i));
  std::vector<float> k(q.rbegin(), q.rend());
  std::vector<float> v(q.size(), 1.0F);
  std::vector<float> whole(q.size());
  std::vector<float> steps(q.size());
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = features, .base = 10000.0, .pairing = rotary::Pairing::half});
  if (!frequencies) return 1;

  const auto attend = [&](std::vector<float>& out, std::int64_t first, std::int64_t count,
                          std::optional<rotary::LinearState> from) -> rotary::Status {
    const auto rows = rotary::make_rotations(
        *frequencies, rotary::ConsecutivePositions{.first = first, .tokens = count});
    if (!rows) return rows.error();
    return linear_attend(part(out, first, count),
                         {part(q, first, count), part(k, first, count), part(v, first, count)},
                         rotary::EluPlusOne{},
                         {.mask = rotary::LinearMask::causal,
                          .rotations = rotary::NumeratorRotations{*rows, *rows},
                          .state = from});
  };
  // The state of each head: sums of ϕ(k) vᵀ and of ϕ(k), and an exponent. All are 0 before any key.
  std::vector<double> values(heads * features * features);
  std::vector<double> keys(heads * features);
  std::vector<double> exponents(heads);
  const rotary::LinearState state{values, keys, exponents};
  rotary::Status status = attend(whole, 0, tokens, std::nullopt);
  if (status) status = attend(steps, 0, prompt, state);
  for (std::int64_t t = prompt; status && t < tokens; ++t) status = attend(steps, t, 1, state);
  float off = status ? 0.0F : 1.0F;
  for (std::size_t i = 0; i < q.size(); ++i) off = std::max(off, std::abs(whole[i] - steps[i]));
  std::printf("prompt and steps: %s all at once\n", off < 1e-5F ? "equal to" : "not equal to");
  // Values are 1, so an output is the sum of its weights. Rotation shrinks it after token 0.
  std::printf("sum of weights: token 0 %.4f, last %.4f\n", whole.front(), whole.back());
}
