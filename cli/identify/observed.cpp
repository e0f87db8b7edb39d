// SPDX-License-Identifier: Apache-2.0
#include "cli/identify/observed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "cli/arguments.hpp"
#include "cli/failure.hpp"

namespace rotary::cli {
namespace {

struct LayoutName {
  std::string_view name;
  std::size_t axes;
};
constexpr std::array layout_names = {LayoutName{"td", 2}, LayoutName{"thd", 3},
                                     LayoutName{"htd", 3}, LayoutName{"bthd", 4},
                                     LayoutName{"bhtd", 4}};

HeadsLayout layout_named(std::string_view name, const std::vector<std::int64_t>& shape) {
  HeadsLayout layout{.name = name, .extents = {.tokens = 1, .heads = 1}, .strides = {}};
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const auto set = [&](std::int64_t& extent, std::int64_t& step) {
      extent = shape[i];
      step = stride;
    };
    if (name[i] == 'b') set(layout.extents.batch, layout.strides.batch);
    if (name[i] == 't') set(layout.extents.tokens, layout.strides.token);
    if (name[i] == 'h') set(layout.extents.heads, layout.strides.head);
    if (name[i] == 'd') set(layout.extents.features, layout.strides.feature);
    stride *= shape[i];
  }
  return layout;
}

std::size_t product(const std::vector<std::int64_t>& shape, std::size_t from, std::size_t to) {
  std::size_t elements = 1;
  for (std::size_t i = from; i < to; ++i) elements *= static_cast<std::size_t>(shape[i]);
  return elements;
}

// Whether column i is column partner(i), in all rows of both.
template <class Partner>
bool repeats(const FloatArray& table, std::size_t columns, Partner partner) {
  for (std::size_t row = 0; row < table.size(); row += columns) {
    for (std::size_t i = 0; i < columns / 2; ++i) {
      const auto [one, other] = partner(i);
      if (table.at(row + one) != table.at(row + other)) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<HeadsLayout> layouts_of(const std::vector<std::int64_t>& shape,
                                    const std::optional<std::string>& name,
                                    std::optional<std::int64_t> tokens) {
  require(shape.size() >= 2 && shape.size() <= 4,
          "--before must have 2 to 4 axes, of which the last is that of features, got {}",
          shape_text(shape));
  std::vector<HeadsLayout> layouts;
  for (const LayoutName& each : layout_names) {
    if (name ? each.name != *name : each.axes != shape.size()) continue;
    require(each.axes == shape.size(), "--before must have the axes of --layout {}, got {}",
            each.name, shape_text(shape));
    const HeadsLayout layout = layout_named(each.name, shape);
    if (name || !tokens || layout.extents.tokens == *tokens) layouts.push_back(layout);
  }
  if (name && layouts.empty()) fail_choice("--layout", *name, {"td", "thd", "htd", "bthd", "bhtd"});
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

IdentifiedLayout identify_heads(const FloatArray& before, const FloatArray& after,
                                const std::vector<HeadsLayout>& layouts,
                                const IdentifyOptions& options) {
  require(before.shape == after.shape, "--before and --after must have one shape, got {} and {}",
          shape_text(before.shape), shape_text(after.shape));
  require(before.dtype == after.dtype, "--before and --after must have one dtype, got {} and {}",
          to_string(before.dtype), to_string(after.dtype));
  std::optional<IdentifiedLayout> best;
  for (const HeadsLayout& layout : layouts) {
    const ConstHeadsView one{before.data.data(), before.dtype, layout.extents, layout.strides};
    const ConstHeadsView other{after.data.data(), after.dtype, layout.extents, layout.strides};
    Identification found = value_or_fail(identify(one, other, options));
    if (!best || is_better(found, best->found))
      best = {.found = std::move(found), .layout = std::string(layout.name)};
  }
  return *std::move(best);
}

Identification identify_tables(const FloatArray& cosines, const FloatArray& sines,
                               const IdentifyOptions& options) {
  require(cosines.shape == sines.shape && cosines.dtype == sines.dtype,
          "--cos and --sin must have one shape and dtype, got {} and {}", shape_text(cosines.shape),
          shape_text(sines.shape));
  const auto& shape = cosines.shape;
  require(shape.size() >= 2 && product(shape, 0, shape.size() - 2) == 1,
          "--cos must have the shape [tokens, pairs], with axes of 1 in front, got {}",
          shape_text(shape));
  const auto columns = static_cast<std::size_t>(shape.back());
  const auto halves = [&](std::size_t i) { return std::pair(i, i + columns / 2); };
  const auto beside = [](std::size_t i) { return std::pair(2 * i, 2 * i + 1); };
  const bool is_even = columns % 2 == 0 && columns >= 4;
  const bool in_halves =
      is_even && repeats(cosines, columns, halves) && repeats(sines, columns, halves);
  const bool doubled =
      is_even && repeats(cosines, columns, beside) && repeats(sines, columns, beside);
  CosSinView rows{.cos = cosines.data.data(),
                  .sin = sines.data.data(),
                  .dtype = cosines.dtype,
                  .tokens = shape[shape.size() - 2],
                  .token_stride = shape.back()};
  if (doubled && !in_halves) rows.pair_stride = 2;
  const auto pairs = static_cast<std::int64_t>(in_halves || doubled ? columns / 2 : columns);
  return value_or_fail(identify_rows(rows, pairs, options));
}

}  // namespace rotary::cli
