// SPDX-License-Identifier: Apache-2.0
// Linear attention with rotary embedding in the numerator: a prompt, then token by token from a
// state whose size does not depend on how many tokens went into it. The same as all at once.
// Run: linear_attention
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

constexpr std::int64_t tokens = 300;
constexpr std::int64_t prompt = 200;
constexpr rotary::Extents extents{.tokens = tokens, .heads = 2, .features = 32};

// Tokens [first, first + count) of [tokens, heads, features].
rotary::HeadsView part(std::vector<float>& values, std::int64_t first, std::int64_t count) {
  rotary::Extents n = extents;
  n.tokens = count;
  return {values.data() + first * n.heads * n.features, rotary::DType::f32, n, strides_bthd(n)};
}

int main() {
  std::vector<float> q(tokens * 2 * 32), k(q.size()), v(q.size(), 1.0F), whole(q.size()), steps(q);
  for (std::size_t i = 0; i < q.size(); ++i) {
    q[i] = std::sin(static_cast<float>(i));
    k[i] = std::cos(static_cast<float>(3 * i));
  }
  const auto frequencies =
      rotary::make_frequencies({.head_dim = 32, .base = 10000.0, .pairing = rotary::Pairing::half});
  if (!frequencies) return 1;

  // S and z of each head: zeros are a state of no keys.
  std::vector<double> values(2 * 32 * 32), keys(2 * 32), exponents(2);
  const auto attend = [&](std::vector<float>& out, std::int64_t first, std::int64_t count,
                          std::optional<rotary::LinearState> state) -> rotary::Status {
    const auto rows = rotary::make_rotations(
        *frequencies, rotary::ConsecutivePositions{.first = first, .tokens = count});
    if (!rows) return rows.error();
    return linear_attend(part(out, first, count),
                         {part(q, first, count), part(k, first, count), part(v, first, count)},
                         rotary::EluPlusOne{},
                         {.mask = rotary::LinearMask::causal,
                          .rotations = rotary::NumeratorRotations{*rows, *rows},
                          .state = state});
  };
  rotary::Status status = attend(whole, 0, tokens, std::nullopt);
  const rotary::LinearState state{values, keys, exponents};
  if (status) status = attend(steps, 0, prompt, state);
  for (std::int64_t t = prompt; status && t < tokens; ++t) status = attend(steps, t, 1, state);
  if (!status) return std::fprintf(stderr, "%s\n", status.error().message.c_str());

  float off = 0;
  for (std::size_t i = 0; i < q.size(); ++i) off = std::max(off, std::abs(whole[i] - steps[i]));
  std::printf("a prompt of %d and %d steps: %s the whole\n", 200, 100, off < 1e-5F ? "as" : "not");
  // Values are 1: an output is the sum of its row's weights, which rotation makes less than 1.
  std::printf("sum of weights: token 0 %.4f, token 299 %.4f\n", whole[0], whole[299 * 64]);
}
