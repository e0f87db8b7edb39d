// SPDX-License-Identifier: Apache-2.0
#include "cli/identify/observed.hpp"

#include <algorithm>
#include <tuple>

#include "apps/failure.hpp"
#include "cli/arguments.hpp"

namespace rotary::cli {

std::vector<HeadsLayout> layouts_of(const FloatArray& heads, std::optional<std::string_view> name,
                                    std::optional<std::int64_t> tokens) {
  const auto& shape = heads.shape;
  require(shape.size() >= 2 && shape.size() <= 4,
          "{} must have 2 to 4 axes, of which the last is that of features, got {}", heads.option,
          shape_text(shape));
  std::vector<HeadsLayout> layouts;
  for (const std::string_view each : layout_names) {
    if (name ? each != *name : each.size() != shape.size()) continue;
    require(each.size() == shape.size(), "{} must have the axes of --layout {}, got {}",
            heads.option, each, shape_text(shape));
    HeadsLayout layout{.name = each, .extents = {.tokens = 1, .heads = 1}, .strides = {}};
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const auto set = [&](std::int64_t& extent, std::int64_t& step) {
        extent = shape[i];
        step = stride;
      };
      if (each[i] == 'b') set(layout.extents.batch, layout.strides.batch);
      if (each[i] == 't') set(layout.extents.tokens, layout.strides.token);
      if (each[i] == 'h') set(layout.extents.heads, layout.strides.head);
      if (each[i] == 'd') set(layout.extents.features, layout.strides.feature);
      stride *= shape[i];
    }
    if (name || !tokens || layout.extents.tokens == *tokens) layouts.push_back(layout);
  }
  require(!layouts.empty(), "an axis of {} must have the {} tokens of --positions",
          shape_text(shape), tokens.value_or(0));
  return layouts;
}

bool is_better(const Identification& one, const Identification& other) {
  const auto rank = [](const Identification& found) {
    const double residual = found.explanations.empty() ? 2 : found.explanations.front().residual;
    const bool explained = found.verdict != Verdict::unexplained;
    const std::size_t causes = explained ? found.explanations.front().causes.size() : 0;
    return std::tuple(!explained, causes, explained ? 0 : residual);
  };
  return rank(one) < rank(other);
}

Identification identify_heads(const FloatArray& before, const FloatArray& after,
                              const HeadsLayout& layout, const IdentifyOptions& options) {
  require(before.shape == after.shape, "{} and {} must have one shape, got {} and {}",
          before.option, after.option, shape_text(before.shape), shape_text(after.shape));
  require(before.dtype == after.dtype, "{} and {} must have one dtype, got {} and {}",
          before.option, after.option, to_string(before.dtype), to_string(after.dtype));
  const ConstHeadsView one{before.data.data(), before.dtype, layout.extents, layout.strides};
  const ConstHeadsView other{after.data.data(), after.dtype, layout.extents, layout.strides};
  return value_or_fail(identify(one, other, options));
}

Identification identify_tables(const FloatArray& cosines, const FloatArray& sines,
                               const IdentifyOptions& options) {
  require(cosines.shape == sines.shape && cosines.dtype == sines.dtype,
          "--cos and --sin must have one shape and dtype, got {} and {}", shape_text(cosines.shape),
          shape_text(sines.shape));
  const auto& shape = cosines.shape;
  require(
      shape.size() >= 2 && std::count(shape.begin(), shape.end() - 2, 1) == std::ssize(shape) - 2,
      "--cos must have the shape [tokens, pairs], with axes of 1 in front, got {}",
      shape_text(shape));
  const auto same = [&](std::size_t one, std::size_t other) {
    return cosines.at(one) == cosines.at(other) && sines.at(one) == sines.at(other);
  };
  const PairColumns columns =
      pair_columns(cosines.size(), static_cast<std::size_t>(shape.back()), same);
  const CosSinView rows{.cos = cosines.data.data(),
                        .sin = sines.data.data(),
                        .dtype = cosines.dtype,
                        .tokens = shape[shape.size() - 2],
                        .token_stride = shape.back(),
                        .pair_stride = static_cast<std::int64_t>(columns.stride)};
  return value_or_fail(identify_rows(rows, static_cast<std::int64_t>(columns.pairs), options));
}

}  // namespace rotary::cli
