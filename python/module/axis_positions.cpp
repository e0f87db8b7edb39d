// SPDX-License-Identifier: Apache-2.0
#include "rotary/axis_positions.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "module/errors.hpp"
#include "module/module.hpp"
#include "rotary/m_rope.hpp"
#include "rotary/position_ids.hpp"

namespace rotary::python {
namespace {

// Returns (bytes of [axes, tokens], axes).
template <class Number>
nb::tuple numbers_of(const AxisPositions<Number>& positions) {
  const auto& numbers = positions.numbers;
  return nb::make_tuple(nb::bytes(numbers.data(), numbers.size() * sizeof(Number)), positions.axes);
}

// Returns (numbers_of(), group_ends, delta).
template <class Number>
nb::tuple facts_of(const MRopePositions<Number>& made) {
  return nb::make_tuple(numbers_of(made.positions), made.group_ends, made.delta);
}

using Numbers = std::vector<std::int64_t>;

// Makes a group from its class name and its members in order.
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

// Returns integers, or real numbers if the convention has fractions.
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

std::vector<std::string_view> convention_names() {
  std::vector<std::string_view> names;
  for (const auto& each : m_rope_conventions()) names.emplace_back(each.name);
  return names;
}

// rotary/_position_ids.py passes only contiguous arrays.
using Integers = nb::ndarray<const std::int64_t, nb::c_contig, nb::device::cpu>;

std::span<const std::int64_t> span_of(const Integers& array) {
  return {array.data(), array.size()};
}

PaddingMask mask_of(const Integers& mask) {
  return {span_of(mask), static_cast<std::int64_t>(mask.shape(0))};
}

nb::bytes bytes_of(const Numbers& numbers) {
  return nb::bytes(numbers.data(), numbers.size() * sizeof(std::int64_t));
}

// Returns (sentence, findings, judged). A finding is (kind, row, token, sentence). ids: [axes,
// batch, tokens].
nb::tuple check_ids(const Integers& ids, const std::optional<Integers>& mask,
                    const std::optional<Integers>& lengths, const std::optional<Integers>& past,
                    std::string_view dtype) {
  KnownSequences known;
  if (mask) known.attention_mask = mask_of(*mask);
  if (lengths) known.lengths = span_of(*lengths);
  if (past) known.past = span_of(*past);
  if (dtype == "bfloat16") known.dtype = DType::bf16;
  if (dtype == "float16") known.dtype = DType::f16;
  const PositionCheck found =
      take(check_positions({.numbers = span_of(ids),
                            .batch = static_cast<std::int64_t>(ids.shape(1)),
                            .axes = static_cast<std::int64_t>(ids.shape(0))},
                           known));
  nb::list findings;
  for (const PositionFinding& each : found.findings) {
    findings.append(nb::make_tuple(each.kind, each.row, each.token, each.sentence));
  }
  return nb::make_tuple(found.sentence, findings, found.judged);
}

}  // namespace

void bind_axis_positions(nb::module_& module) {
  module.def("m_rope_ids", ids_of);
  module.def("m_rope_conventions", convention_names);
  module.def("grid_positions", grid);
  module.def("padded_positions", [](const Integers& mask, std::int64_t past) {
    return bytes_of(take(padded_positions(mask_of(mask), past)));
  });
  module.def("packed_positions", [](const Integers& lengths, const Integers& past) {
    return bytes_of(take(packed_positions(span_of(lengths), span_of(past))));
  });
  module.def("sequence_lengths", [](const Integers& cu_seqlens) {
    return bytes_of(take(sequence_lengths(span_of(cu_seqlens))));
  });
  module.def("check_positions", check_ids);
}

}  // namespace rotary::python
