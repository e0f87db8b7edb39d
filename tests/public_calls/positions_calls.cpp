// SPDX-License-Identifier: Apache-2.0
// Grids, regions, windows, and the ids of prompts.
#include <array>

#include "public_calls/call.hpp"
#include "rotary/m_rope.hpp"

namespace rotary::test {
namespace {

// Text, an image, a video and an image in slices, of any sizes; text where a convention has none.
std::array<TokenGroup, 4> prompt_of(Sizes n, std::string_view name) {
  VideoPatches video{.frames = n[3], .rows = n[1], .columns = n[2], .seconds_per_frame = 0.7};
  if (name.ends_with("omni")) video.audio_tokens = n[0];
  if (name == "qwen3-vl") video.text_between_frames = n[0];
  const SlicedImage sliced{{n[1], n[2]}, n[3], n[3], {n[2], n[1]}, n[0]};
  const bool has_canvas = name == "minicpm-v-4.7";
  return {TextTokenRun{n[0]}, ImagePatches{n[1], n[2]}, video,
          has_canvas ? TokenGroup(sliced) : TextTokenRun{n[0]}};
}

PatchGrid grid_of(Sizes n) { return {n[0], n[1], n[2]}; }

}  // namespace

Calls positions_calls() {
  Calls calls = {
      {"rotary::text_positions(",
       "",
       {{5}, {2}},
       [](Sizes n) { return text_positions({.tokens = n[0], .axes = n[1]}); }},
      {"rotary::grid_positions(",
       "",
       {{2}, {4}, {6}, {2}},
       [](Sizes n) { return grid_positions(grid_of(n), n[3]); }},
      {"rotary::centred_grid_positions(",
       "",
       {{2}, {4}, {6}},
       [](Sizes n) { return centred_grid_positions(grid_of(n)); }},
      {"rotary::area_scaled_positions(",
       "",
       {{2}, {4}, {6}},
       [](Sizes n) { return area_scaled_positions(grid_of(n), 192 * 192); }},
      {"rotary::region_positions(",
       "",
       {{2}, {4}},
       [](Sizes n) {
         return region_positions(
             std::array<AxisRegion, 2>{{{n[0], -1, 1.0 / 3}, {n[1], 0, 0.7, Sampling::centres}}});
       }},
      {"rotary::window_order(",
       "",
       {{2}, {4}, {6}, {2}, {2}},
       [](Sizes n) { return window_order(grid_of(n), {.merge = n[3], .window = n[4]}); }},
      {"rotary::m_rope_conventions(", [] { return m_rope_conventions().size(); }},
      {"rotary::m_rope_convention(", [] { return m_rope_convention("glm-4v"); }},
  };
  const SizeList sizes = {{5}, {4}, {8}, {3}};
  const Adding add{calls, {}, sizes};
  const auto qwen = [] { return *m_rope_convention("qwen2.5-vl"); };
  add("rotary::m_rope_token_count(",
      [=](Sizes n) { return m_rope_token_count(prompt_of(n, ""), qwen()); });
  add("rotary::m_rope_positions(",
      [=](Sizes n) { return m_rope_positions(prompt_of(n, ""), qwen()); });
  for (const auto* const name : {"qwen3-vl", "qwen2.5-omni", "qwen3-omni", "minicpm-v-4.7"}) {
    calls.emplace_back("rotary::m_rope_coordinates(", name, sizes, [name](Sizes n) {
      return m_rope_coordinates(prompt_of(n, name), *m_rope_convention(name));
    });
  }
  return calls;
}

}  // namespace rotary::test
