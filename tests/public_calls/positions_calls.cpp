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

Call ids_call(std::string_view name) {
  return sized("rotary::m_rope_coordinates(", name, {{5}, {4}, {8}, {3}}, [name](Sizes n) {
    return m_rope_coordinates(prompt_of(n, name), *m_rope_convention(name));
  });
}

}  // namespace

Calls positions_calls() {
  return {
      sized("rotary::text_positions(", "", {{5}, {2}},
            [](Sizes n) { return text_positions({.tokens = n[0], .axes = n[1]}); }),
      sized("rotary::grid_positions(", "", {{2}, {4}, {6}, {2}},
            [](Sizes n) {
              return grid_positions({n[0], n[1], n[2]}, n[3]);
            }),
      sized("rotary::centred_grid_positions(", "", {{2}, {4}, {6}},
            [](Sizes n) {
              return centred_grid_positions({n[0], n[1], n[2]});
            }),
      sized("rotary::area_scaled_positions(", "", {{2}, {4}, {6}},
            [](Sizes n) {
              return area_scaled_positions({n[0], n[1], n[2]}, 192 * 192);
            }),
      sized("rotary::region_positions(", "", {{2}, {4}},
            [](Sizes n) {
              const std::array<AxisRegion, 2> regions = {
                  {{n[0], -1, 1.0 / 3}, {n[1], 0, 0.7, Sampling::centres}}};
              return region_positions(regions);
            }),
      sized("rotary::window_order(", "", {{2}, {4}, {6}, {2}, {2}},
            [](Sizes n) {
              return window_order({n[0], n[1], n[2]}, {.merge = n[3], .window = n[4]});
            }),
      without_sizes("rotary::m_rope_conventions(", "", [] { return m_rope_conventions().size(); }),
      without_sizes("rotary::m_rope_convention(", "", [] { return m_rope_convention("glm-4v"); }),
      sized("rotary::m_rope_token_count(", "", {{5}, {4}, {8}, {3}},
            [](Sizes n) {
              return m_rope_token_count(prompt_of(n, ""), *m_rope_convention("qwen2.5-vl"));
            }),
      sized("rotary::m_rope_positions(", "", {{5}, {4}, {8}, {3}},
            [](Sizes n) {
              return m_rope_positions(prompt_of(n, ""), *m_rope_convention("qwen2.5-vl"));
            }),
      ids_call("qwen3-vl"),
      ids_call("qwen2.5-omni"),
      ids_call("qwen3-omni"),
      ids_call("minicpm-v-4.7"),
  };
}

}  // namespace rotary::test
