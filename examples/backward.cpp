// SPDX-License-Identifier: Apache-2.0
// Direction::transpose is the backward pass; Direction::inverse undoes the rotation. The two differ
// if the attention factor A is not 1 (YaRN).
// Run: backward
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// [tokens, heads, head_dim]
rotary::HeadsView view(std::vector<float>& values) {
  const rotary::Extents extents{.tokens = 16, .heads = 4, .features = 128};
  return {values.data(), rotary::DType::f32, extents, strides_bthd(extents)};
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

int main() {
  const rotary::YarnScaling yarn{.factor = 32, .original_context_tokens = 4096};
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = 128, .base = 10000.0, .pairing = rotary::Pairing::half, .scaling = yarn});
  if (!frequencies) return report(frequencies.error().message);
  const auto rotations = rotary::make_rotations(
      *frequencies, rotary::ConsecutivePositions{.first = 131000, .tokens = 16});
  if (!rotations) return report(rotations.error().message);

  std::vector<float> q(std::size_t{16} * 4 * 128);
  std::vector<float> gradient(q.size());  // of a loss with respect to the rotated q
  for (std::size_t i = 0; i < q.size(); ++i) {
    q[i] = static_cast<float>(i * 37 % 64) / 32 - 1;
    gradient[i] = static_cast<float>(i * i % 61) / 32 - 1;
  }
  std::vector<float> rotated(q.size());
  std::vector<float> q_gradient(q.size());
  std::vector<float> undone(q.size());
  for (const auto& status :
       {rotate(view(rotated), view(q), *rotations),
        rotate(view(q_gradient), view(gradient), *rotations, {rotary::Direction::transpose}),
        rotate(view(undone), view(rotated), *rotations, {rotary::Direction::inverse})}) {
    if (!status) return report(status.error().message);
  }

  // <A R q, g> = <q, A R^T g> for all q and g, so transpose is the backward pass.
  const double forward = dot(rotated, gradient);
  const double backward = dot(q, q_gradient);
  std::printf("A = %.4f, <A R q, g> = %.3f, <q, A R^T g> = %.3f\n", frequencies->attention_factor,
              forward, backward);
  if (std::abs(forward - backward) > 1e-6 * dot(q, q)) return report("transpose must be adjoint");
  for (std::size_t i = 0; i < q.size(); ++i)
    if (std::abs(undone[i] - q[i]) > 1e-6F) return report("inverse must undo forward");
}
