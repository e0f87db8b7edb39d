// SPDX-License-Identifier: Apache-2.0
// From a model's config.json to rotated queries and keys. Run: rotate_queries
// models/llama-3.1-8b.json
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

int report(const rotary::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "models/llama-3.1-8b.json");
  const std::string config{std::istreambuf_iterator<char>(file), {}};

  // What the config means: pairing, base, scaling rule. Refuses what it does not understand.
  const auto model = rotary::resolve(config);
  if (!model) return report(model.error());

  // How fast each pair turns: once for a model.
  const auto frequencies = rotary::make_frequencies(model->rotary.front().spec);
  if (!frequencies) return report(frequencies.error());

  // Where the tokens stand: once for a step, for q, k and all layers.
  const auto rotations = rotary::make_rotations(
      *frequencies, rotary::ConsecutivePositions{.first = 1000, .tokens = 2});
  if (!rotations) return report(rotations.error());

  // [tokens, heads, head_dim], as a projection leaves them; 4 query heads share 1 key head here.
  const rotary::Extents q_extents{.tokens = 2, .heads = 4, .features = 128};
  const rotary::Extents k_extents{.tokens = 2, .heads = 1, .features = 128};
  std::vector<float> q(2 * 4 * 128, 1.0F);
  std::vector<float> k(2 * 1 * 128, 1.0F);
  const auto status = rotary::rotate_qk(
      {q.data(), rotary::DType::f32, q_extents, strides_bthd(q_extents)},
      {k.data(), rotary::DType::f32, k_extents, strides_bthd(k_extents)}, *rotations);
  if (!status) return report(status.error());

  for (const int feature : {0, 1, 63, 64, 127}) {
    std::printf("k[token 0][feature %3d] = %9.6f\n", feature,
                static_cast<double>(k[static_cast<std::size_t>(feature)]));
  }
}
