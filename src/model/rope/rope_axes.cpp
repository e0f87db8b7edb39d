// SPDX-License-Identifier: Apache-2.0
#include "model/rope/rope_axes.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace rotary {
namespace {

using Counts = std::vector<std::int64_t>;

constexpr std::string_view section_key = "mrope_section";

bool has_sections(const Family& family) {
  return family.axes.given_by == AxisShares::sections ||
         family.axes.given_by == AxisShares::no_rotation;
}

void take_sections(LayerTypeRope& rope, Reader& reader) {
  for (const std::string_view key : {section_key, std::string_view("xdrope_section")}) {
    for (const double each : reader.numbers(key).value_or(std::vector<double>())) {
      if (!(each >= 1) || each > 1e6 || each != static_cast<double>(static_cast<int>(each))) {
        reader.malformed(key, " must hold numbers of pairs, >= 1, got ", each);
        return;
      }
      rope.sections.push_back(static_cast<std::int64_t>(each));
    }
    rope.dictionary.object().erase(std::string(key));
  }
  for (const std::string_view key : {"mrope_interleaved", "interleaved"}) {
    if (const auto stated = reader.boolean(key)) rope.interleaves = stated;
    rope.dictionary.object().erase(std::string(key));
  }
}

// Replaces a rope type that names axes by the rule that applies.
void replace_type(LayerTypeRope& rope, std::string_view type, std::string_view rule) {
  for (const std::string_view key : {"rope_type", "type"}) {
    const auto found = rope.dictionary.object().find(key);
    if (found != rope.dictionary.object().end() && found->second == Json(std::string(type)))
      found->second = Json(std::string(rule));
  }
}

// Adds an error for a rope type other than axial or default, because all classes of towers call
// compute_axial_rope_parameters.
void check_axial(const LayerTypeRope& rope, Reader& reader) {
  for (const std::string_view key : {"rope_type", "type"}) {
    const Json* const found = rope.dictionary.find(key);
    if (found == nullptr || *found == Json(std::string("default"))) continue;
    const auto got = reader.text(key);
    if (got)
      reader.not_supported(key, " must be axial or default where each axis has exponents of its ",
                           "own; got '", *got, "'");
    return;
  }
}

// Ming's video_rope: sections for time, height and width. The fastest pairs alternate between
// height and width. Puts the sections in the order of AxesForm::order.
void take_video_rope(LayerTypeRope& rope, Reader& reader) {
  const auto is_video = [&](std::string_view key) {
    const Json* const found = rope.dictionary.find(key);
    return found != nullptr && *found == Json(std::string("video_rope"));
  };
  if (!is_video("rope_type") && !is_video("type")) {
    if (!rope.sections.empty())
      reader.not_supported(section_key, " must be that of type video_rope, got it without");
    return;
  }
  if (rope.sections.empty()) rope.sections = {8, 12, 12};
  if (rope.sections.size() != 3) {
    reader.malformed(section_key, " must have 3 entries, time, height and width; got ",
                     rope.sections.size());
    return;
  }
  const std::int64_t spatial = rope.sections[1] + rope.sections[2];
  rope.sections = {spatial - spatial / 2, spatial / 2, rope.sections[0]};
  replace_type(rope, "video_rope", "default");
}

std::int64_t sum_of(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

void check_sum(const Counts& counts, std::string_view key, std::int64_t pairs, Reader& reader) {
  const std::int64_t sum = sum_of(counts);
  if (sum == pairs) return;
  reader.malformed(key, " must add up to the pairs of a head, ", pairs, "; got ", sum);
}

// The number of pairs of each axis, in the order in which axes get pairs. Empty: the model is read
// for text alone.
struct Shares {
  Counts counts = {};
  Origin origin = Origin::family;
  std::string_view key = {};
};

Counts without_zeros(const AxesForm& form) {
  Counts counts(form.otherwise.begin(), form.otherwise.end());
  counts.erase(std::find(counts.begin(), counts.end(), 0), counts.end());
  return counts;
}

// Fits a class's sections to heads with more or fewer pairs, if pairs alternate between n axes.
// Each axis after the first gets at most every n-th pair, as in the class's slices.
Counts dealt_in_turn(Counts counts, std::int64_t pairs) {
  const auto axes = static_cast<std::int64_t>(counts.size());
  counts.front() = pairs;
  for (std::int64_t axis = 1; axis < axes; ++axis) {
    std::int64_t& count = counts[static_cast<std::size_t>(axis)];
    count = std::min(count, (pairs - axis + axes - 1) / axes);
    counts.front() -= count;
  }
  return counts;
}

// mrope_section, or the default of the class.
Shares sections_of(const ModelConfig& config, const LayerTypeRope& rope, std::int64_t pairs) {
  const AxesForm& form = config.family.axes;
  Reader dictionary(rope.dictionary, rope.path, config.reader.findings());
  const Counts usual = without_zeros(form);
  if (!rope.sections.empty()) {
    check_sum(rope.sections, section_key, pairs, dictionary);
    if (!usual.empty() && rope.sections.size() != usual.size() && !dictionary.failed())
      dictionary.malformed(section_key, " must have ", usual.size(),
                           " entries, one for each axis; got ", rope.sections.size());
    return {.counts = rope.sections, .origin = rope.origin, .key = section_key};
  }
  if (usual.empty()) return {};
  const bool is_sum = sum_of(usual) == pairs;
  const auto axes = static_cast<std::int64_t>(usual.size());
  if (form.arrangement == AxisArrangement::interleaved && pairs >= axes)
    return {.counts = is_sum ? usual : dealt_in_turn(usual, pairs),
            .origin = Origin::class_default,
            .key = section_key};
  if (!is_sum) {
    dictionary.warn(section_key, " is absent, and that of the family's class does not add up to ",
                    "the pairs of a head, ", pairs, "; positions of text alone are supported");
    return {};
  }
  return {.counts = usual, .origin = Origin::class_default, .key = section_key};
}

// A list with the number of features of each axis, in the config itself.
Shares listed_features(const ModelConfig& config, std::int64_t pairs) {
  const AxesForm& form = config.family.axes;
  Reader& reader = config.reader;
  const auto list = reader.numbers(form.key);
  Shares shares{.counts = without_zeros(form), .origin = Origin::class_default, .key = form.key};
  if (list) {
    shares = {.counts = {}, .origin = Origin::stated, .key = form.key};
    for (const double each : *list) {
      const auto features = static_cast<std::int64_t>(std::clamp(each, 0.0, 1e6));
      if (features < 2 || features % 2 != 0 || static_cast<double>(features) != each) {
        reader.malformed(form.key, " must hold even numbers of features, >= 2, got ", each);
        return shares;
      }
      shares.counts.push_back(features);
    }
  }
  for (std::int64_t& each : shares.counts) each /= 2;
  const std::int64_t sum = sum_of(shares.counts);
  if (sum != pairs)
    reader.malformed(form.key, " must add up to the features of a head, ", 2 * pairs, "; got ",
                     2 * sum);
  return shares;
}

Shares equal_shares(const ModelConfig& config, std::int64_t pairs) {
  const std::int64_t count = config.family.axes.count;
  if (pairs % count != 0)
    config.reader.malformed("the features of a head that turn must be a multiple of ", 2 * count,
                            ", the same for each of ", count, " axes; got ", 2 * pairs);
  return {.counts = Counts(static_cast<std::size_t>(count), pairs / count)};
}

// Wan: a third of the pairs, rounded down, for each of the last two axes; the first has the rest.
Shares thirds(std::int64_t pairs) {
  const std::int64_t third = pairs / 3;
  return {.counts = {pairs - 2 * third, third, third}};
}

Shares shares_of(const ModelConfig& config, const LayerTypeRope& rope, std::int64_t pairs) {
  switch (config.family.axes.given_by) {
    case AxisShares::one_axis:
      return {};
    case AxisShares::no_rotation: {
      if (rope.sections.empty()) return {};
      Reader dictionary(rope.dictionary, rope.path, config.reader.findings());
      check_sum(rope.sections, section_key, pairs, dictionary);
      dictionary.warn(section_key,
                      ": positions of text are supported, those of images are not: ", "the family ",
                      config.family.model_type,
                      " gives the two features of a pair different axes, which is no rotation: "
                      "hunyuan_vl_two_angles of rotary/position_maps.hpp makes its rows");
      return {};
    }
    case AxisShares::sections:
      return sections_of(config, rope, pairs);
    case AxisShares::features:
      return listed_features(config, pairs);
    case AxisShares::equal:
      return equal_shares(config, pairs);
    case AxisShares::thirds:
      return thirds(pairs);
  }
  return {};
}

// The arrangement of pairs; for an unknown family the config decides.
AxisArrangement arrangement_of(const ModelConfig& config, const LayerTypeRope& rope) {
  const AxisArrangement own = config.family.axes.arrangement;
  if (!rope.interleaves) return own;
  const auto stated = *rope.interleaves ? AxisArrangement::interleaved : AxisArrangement::blocks;
  if (config.family.model_type.empty()) return stated;
  if ((own == AxisArrangement::interleaved) != *rope.interleaves)
    config.reader.warn("mrope_interleaved ", *rope.interleaves ? "true" : "false",
                       " is ignored: the family ", config.family.model_type, " deals its pairs ",
                       to_string(own));
  return own;
}

}  // namespace

void take_axes(LayerTypeRope& rope, const Family& family, Findings& findings) {
  Reader reader(rope.dictionary, rope.path, findings);
  if (has_sections(family)) {
    take_sections(rope, reader);
    replace_type(rope, "mrope", "default");
    replace_type(rope, "xdrope", "dynamic");
  }
  if (family.rope.dialect == RopeDialect::ming) take_video_rope(rope, reader);
  if (family.axes.exponents == AxisExponents::shared) return;
  replace_type(rope, "axial", "default");
  check_axial(rope, reader);
}

std::optional<Axes> resolve_axes(const ModelConfig& config, const LayerTypeRope& rope,
                                 std::int64_t pairs, Sources& sources) {
  const AxesForm& form = config.family.axes;
  const Shares shares = shares_of(config, rope, pairs);
  if (shares.counts.empty() || config.reader.failed()) return {};
  Axes axes{.pairs = Counts(shares.counts.size()),
            .arrangement = arrangement_of(config, rope),
            .exponents = form.exponents};
  const auto count = static_cast<std::ptrdiff_t>(shares.counts.size());
  if (form.order != AxesForm().order)
    axes.order.assign(form.order.begin(), form.order.begin() + count);
  for (std::size_t dealt = 0; dealt < shares.counts.size(); ++dealt) {
    const std::size_t axis =
        axes.order.empty() ? dealt : static_cast<std::size_t>(axes.order[dealt]);
    axes.pairs[axis] = shares.counts[dealt];
  }
  if (form.scale != 1) axes.scales.assign(shares.counts.size(), form.scale);
  note(sources, "axes", shares.origin, shares.key);
  return axes;
}

}  // namespace rotary
