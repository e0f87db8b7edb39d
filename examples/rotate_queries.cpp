// SPDX-License-Identifier: Apache-2.0
// From a model's file to rotated queries and keys.
// Run: rotate_queries models/llama-3.1-8b.json
#include <cstdio>
#include <string>
#include <vector>

#include "rotary/rotary.hpp"

namespace {

using rotary::HeadsView, rotary::ConsecutivePositions;

// Rotates q and k in place by the model's config; their first token is at position `first`.
rotary::Status rotate_queries(const std::string& path, HeadsView q, HeadsView k,
                              std::int64_t first) {
  const auto model = rotary::load_model(path);  // a config.json, a GGUF file or a folder
  if (!model) return model.error();             // the config has something unknown
  for (const auto& warning : model->warnings) std::fprintf(stderr, "%s\n", warning.c_str());
  const auto embedding = model->only_rotary();  // Gemma 3 has two: see model->layers
  if (!embedding) return embedding.error();
  const auto frequencies = make_frequencies(embedding->spec);  // once per model
  if (!frequencies) return frequencies.error();
  const ConsecutivePositions positions{.first = first, .tokens = q.extents.tokens};
  const auto rotations = make_rotations(*frequencies, positions);  // once for all layers
  if (!rotations) return rotations.error();
  return rotate_qk(q, k, *rotations);
}

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  // [tokens, heads, head_dim], the layout of a projection. 4 query heads share 1 key head.
  const rotary::Extents q_extents{.tokens = 2, .heads = 4, .features = 128};
  const rotary::Extents k_extents{.tokens = 2, .heads = 1, .features = 128};
  std::vector<float> q(2 * 4 * 128, 1.0F), k(2 * 1 * 128, 1.0F);
  const auto status =
      rotate_queries(argc > 1 ? argv[1] : "models/llama-3.1-8b.json",
                     {q.data(), rotary::DType::f32, q_extents, strides_bthd(q_extents)},
                     {k.data(), rotary::DType::f32, k_extents, strides_bthd(k_extents)}, 1000);
  if (!status) return report(status.error().message);
  std::printf("k of token 0, at position 1000: %f, %f, %f, …\n", static_cast<double>(k[0]),
              static_cast<double>(k[1]), static_cast<double>(k[2]));
}
