// SPDX-License-Identifier: Apache-2.0
#include "rotary/axis_positions.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/errors.hpp"
#include "module/module.hpp"
#include "rotary/m_rope.hpp"

namespace rotary::python {
namespace {

// (bytes of [axes, tokens], axes)
template <class Number>
nb::tuple numbers_of(const AxisPositions<Number>& positions) {
  const auto& numbers = positions.numbers;
  return nb::make_tuple(nb::bytes(numbers.data(), numbers.size() * sizeof(Number)), positions.axes);
}

// (numbers, group_ends, delta)
template <class Number>
nb::tuple facts_of(const MRopePositions<Number>& made) {
  return nb::make_tuple(numbers_of(made.positions), made.group_ends, made.delta);
}

using Numbers = std::vector<std::int64_t>;

// A group by the name of its class, and its members in order.
TokenGroup group_of(std::string_view name, const Numbers& n, double seconds_per_frame) {
  if (name == "TextTokenRun") return TextTokenRun{n[0]};
  if (name == "ImagePatches") return ImagePatches{n[0], n[1]};
  if (name == "VideoPatches") {
    return VideoPatches{.frames = n[0],
                        .rows = n[1],
                        .columns = n[2],
                        .seconds_per_frame = seconds_per_frame,
                        .text_between_frames = n[3],
                        .audio_tokens = n[4]};
  }
  return SlicedImage{.thumbnail = {n[0], n[1]},
                     .slices_down = n[2],
                     .slices_across = n[3],
                     .slice = {n[4], n[5]},
                     .newlines_after = n[6]};
}

MRopeConvention convention_of(std::string_view name, const nb::dict& changes) {
  MRopeConvention convention = take(m_rope_convention(name), "convention");
  for (const auto [key, value] : changes) {
    const auto text = nb::cast<std::string>(key);
    const auto number = nb::cast<std::int64_t>(value);
    if (text == "merge") convention.merge = number;
    if (text == "temporal_merge") convention.temporal_merge = number;
    if (text == "ids_per_second") convention.ids_per_second = number;
    if (text == "ids_per_chunk") convention.ids_per_chunk = number;
  }
  return convention;
}

// Integers, or real numbers where the convention has fractions.
nb::tuple ids_of(const nb::list& parts, std::string_view name, const nb::dict& changes) {
  std::vector<TokenGroup> groups;
  for (const nb::handle part : parts) {
    groups.push_back(group_of(nb::cast<const char*>(part[0]), nb::cast<Numbers>(part[1]),
                              nb::cast<double>(part[2])));
  }
  const MRopeConvention convention = convention_of(name, changes);
  if (convention.frame_times == FrameTimes::not_truncated) {
    return facts_of(take(m_rope_coordinates(groups, convention)));
  }
  return facts_of(take(m_rope_positions(groups, convention)));
}

nb::tuple grid(std::int64_t frames, std::int64_t rows, std::int64_t columns, std::int64_t merge) {
  return numbers_of(
      take(grid_positions({.frames = frames, .rows = rows, .columns = columns}, merge)));
}

std::vector<std::string> convention_names() {
  std::vector<std::string> names;
  for (const auto& each : m_rope_conventions()) names.emplace_back(each.name);
  return names;
}

}  // namespace

void bind_axis_positions(nb::module_& module) {
  module.def("m_rope_ids", ids_of, nb::arg("groups"), nb::arg("convention"), nb::arg("changes"));
  module.def("m_rope_conventions", convention_names);
  module.def("grid_positions", grid, nb::arg("frames"), nb::arg("rows"), nb::arg("columns"),
             nb::arg("merge"));
}

}  // namespace rotary::python
