// SPDX-License-Identifier: Apache-2.0
// A C++ engine that saves q before and after rotation for `rotary identify`. By mistake it pairs
// neighbouring features, but Llama pairs the halves. Such output stays fluent but is wrong.
// Run: save_for_identify FOLDER
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "write_npy.hpp"

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  const int tokens = 8;
  const int head_dim = 128;
  std::vector<float> before(tokens * head_dim);  // [tokens, 1 head, head_dim]
  for (std::size_t i = 0; i < before.size(); ++i)
    before[i] = std::sin(static_cast<float>(i * i % 1009));
  std::vector<float> after = before;
  for (int token = 0; token < tokens; ++token) {
    for (int pair = 0; pair < head_dim / 2; ++pair) {
      const double angle = (100 + token) * std::pow(10000.0, -2.0 * pair / head_dim);
      const auto cosine = static_cast<float>(std::cos(angle));
      const auto sine = static_cast<float>(std::sin(angle));
      float* const turned = after.data() + token * head_dim + 2 * pair;
      const float x = turned[0];
      const float y = turned[1];
      turned[0] = x * cosine - y * sine;
      turned[1] = x * sine + y * cosine;
    }
  }
  const bool saved =
      write_npy((folder + "/q.npy").c_str(), before.data(), "<f4", {tokens, 1, head_dim}) &&
      write_npy((folder + "/q_rotated.npy").c_str(), after.data(), "<f4", {tokens, 1, head_dim});
  if (!saved) return 1;
  std::printf("rotary identify --before q.npy --after q_rotated.npy --config llama-2-7b-chat\n");
}
