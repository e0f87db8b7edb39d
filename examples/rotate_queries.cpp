// SPDX-License-Identifier: Apache-2.0
// From a model's config.json to rotated queries and keys. Run: rotate_queries
// models/llama-3.1-8b.json
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : "models/llama-3.1-8b.json");
  std::ostringstream config;
  config << file.rdbuf();
  if (!file) return report("cannot read the config");

  // The meaning of the config: pairing, base, scaling rule. Refuses what it does not understand.
  const auto model = rotary::resolve(config.str());
  if (!model) return report(model.error().message);
  for (const auto& warning : model->warnings) report("warning: " + warning);

  // The embedding of layer 0; most models have one for all layers, Gemma 3 has two.
  if (model->layers.empty()) return report("the config does not say how many layers there are");
  const auto& spec = model->rotary[model->layers.front().rotary].spec;

  // How fast each pair turns: once for a model.
  const auto frequencies = rotary::make_frequencies(spec);
  if (!frequencies) return report(frequencies.error().message);

  // Where the tokens stand: once for a step, for q, k and all layers that share the embedding.
  const auto rotations = rotary::make_rotations(
      *frequencies, rotary::ConsecutivePositions{.first = 1000, .tokens = 2});
  if (!rotations) return report(rotations.error().message);

  // [tokens, heads, head_dim], as a projection leaves them; 4 query heads share 1 key head here.
  const rotary::Extents q_extents{.tokens = 2, .heads = 4, .features = spec.head_dim};
  const rotary::Extents k_extents{.tokens = 2, .heads = 1, .features = spec.head_dim};
  std::vector<float> q(static_cast<std::size_t>(q_extents.tokens * strides_bthd(q_extents).token),
                       1.0F);
  std::vector<float> k(static_cast<std::size_t>(k_extents.tokens * strides_bthd(k_extents).token),
                       1.0F);
  const auto status = rotary::rotate_qk(
      {q.data(), rotary::DType::f32, q_extents, strides_bthd(q_extents)},
      {k.data(), rotary::DType::f32, k_extents, strides_bthd(k_extents)}, *rotations);
  if (!status) return report(status.error().message);

  std::printf("k of token 0, at position 1000: %f, %f, %f, …\n", static_cast<double>(k[0]),
              static_cast<double>(k[1]), static_cast<double>(k[2]));
}
