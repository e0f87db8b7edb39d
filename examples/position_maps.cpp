// SPDX-License-Identifier: Apache-2.0
// Position maps: the distances at which a model trained on 4096 tokens sees keys of a longer text,
// and attention under one map. Run: position_maps
#include "rotary/position_maps.hpp"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "rotary/frequencies.hpp"

int report(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

int main() {
  const std::vector<std::pair<const char*, rotary::PositionMap>> maps = {
      {"rerope", rotary::ReRope{.window = 512}},
      {"leaky rerope", rotary::LeakyReRope{.window = 512, .factor = 16}},
      {"self-extend", rotary::SelfExtend{.neighbors = 1024, .group = 8}},
      {"dual chunk", rotary::DualChunk{.chunk = 3072, .local = 256}},
      {"clipped angle", rotary::ClippedAngle{}}};

  // The pair rotates by 0.001 radians per position. Only the clipped angle depends on this number.
  constexpr double inv_freq = 0.001;
  std::printf("the token at 32767 sees a key   10 back  1000 back  10000 back\n");
  for (const auto& [name, map] : maps) {
    std::printf("%-30s", name);
    for (const int back : {10, 1000, 10000})
      std::printf("  %9.2f", relative_position(map, 32767, 32767 - back, inv_freq));
    std::printf("\n");
  }

  // Unrotated queries and keys: one head of 2 features, 4 tokens.
  const auto frequencies = rotary::make_frequencies(
      {.head_dim = 2, .rotary_dim = 2, .pairing = rotary::Pairing::half}, {1.0}, 1);
  if (!frequencies) return report(frequencies.error().message);
  std::vector<float> x = {1, 0, 1, 0, 1, 0, 1, 0};
  const std::vector<float> values = {1, 2, 3, 4};
  std::vector<float> out(4);
  const auto view = [](auto* data, std::int64_t features) {
    const rotary::Extents n{.tokens = 4, .heads = 1, .features = features};
    return rotary::ConstHeadsView{data, rotary::DType::f32, n, strides_bthd(n)};
  };
  rotary::HeadsView result{
      out.data(), rotary::DType::f32, {.tokens = 4, .heads = 1, .features = 1}};
  result.strides = strides_bthd(result.extents);
  const auto attended =
      attend_mapped(result, view(x.data(), 2), view(x.data(), 2), view(values.data(), 1),
                    {.map = rotary::ReRope{.window = 2},
                     .frequencies = &*frequencies,
                     .attend = {.scale = 1, .mask = {.order = rotary::AttentionOrder::causal}}});
  if (!attended) return report(attended.error().message);
  // The scores are cos 2, cos 2, cos 1, 1: the farthest key counts as two back.
  std::printf("under rerope with window 2 the last of four tokens reads %.5f\n", out[3]);
}
