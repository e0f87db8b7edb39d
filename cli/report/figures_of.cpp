// SPDX-License-Identifier: Apache-2.0
#include "cli/report/figures_of.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cli/failure.hpp"
#include "rotary/alibi.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/sinusoidal.hpp"

namespace rotary::cli::page {
namespace {

using plot::Axis;
using plot::Figure;
using plot::Panel;
using plot::Series;

constexpr std::int64_t last_distance = 1000;  // tokens

struct Choice {
  std::string_view section;
  std::string_view figure;  // of `rotary plot`
  std::optional<std::int64_t> last = {};
};

constexpr std::array rotary_choices = {
    Choice{"context", "wavelengths"},
    Choice{"scaling", "scaling"},
    Choice{"distance", "similarity", last_distance},
    Choice{"distance", "decay", last_distance},
    Choice{"accuracy", "numerics"},
};

Figure named_figure(std::string_view name, const plot::Request& request) {
  const plot::FigureMaker* const maker = plot::find_figure(name);
  if (maker == nullptr) {
    throw Failure(ExitCode::internal, fmt::format("there is no figure of the name {}", name));
  }
  return maker->make(request);
}

// What ALiBi adds in each of 8 heads. The slopes depend on how many heads there are, which is not
// part of what a config is resolved to.
Figure alibi_figure() {
  constexpr std::int64_t heads = 8;
  const RelativeBias bias = Alibi{.heads = heads};
  const auto count = static_cast<std::size_t>(last_distance + 1);
  std::vector<double> numbers(heads * count);
  const ScoresExtents extents{.heads = heads, .queries = 1, .keys = last_distance + 1};
  const ScoresView view{.data = numbers.data(),
                        .dtype = DType::f64,
                        .extents = extents,
                        .strides = strides_bhqk(extents)};
  ok_or_fail(fill_distances(view, bias, -last_distance));
  Panel panel{.title = {},
              .x = Axis{.label = "distance, key - query (tokens)"},
              .y = Axis{.label = "added to the score"}};
  for (std::size_t head = 0; head < heads; ++head) {
    Series series{.name = fmt::format("head {}", head), .x = {}, .y = {}};
    for (std::size_t column = 0; column < count; column += 10) {
      series.x.push_back(static_cast<double>(column) - static_cast<double>(last_distance));
      series.y.push_back(numbers[head * count + column]);
    }
    panel.series.push_back(std::move(series));
  }
  return {.name = "alibi",
          .title = "What linear biases add to a score (an example of 8 heads)",
          .caption =
              "Each head has a slope of its own: the first sees a few tokens back, the last "
              "hundreds. A model with more heads has slopes between these.",
          .panels = {std::move(panel)}};
}

// p(0) · p(r) / |p|², of 512 features.
Figure sinusoidal_figure() {
  constexpr std::int64_t dim = 512;
  constexpr std::int64_t count = last_distance + 1;
  std::vector<double> rows(static_cast<std::size_t>(dim * count));
  const TokenExtents extents{.tokens = count, .features = dim};
  const TokensView view{.data = rows.data(),
                        .dtype = DType::f64,
                        .extents = extents,
                        .strides = strides_btd(extents)};
  ok_or_fail(fill_sinusoidal(view, value_or_fail(make_sinusoidal(transformer_sinusoidal(dim))),
                             ConsecutivePositions{.first = 0, .tokens = count}));
  Series series{.name = "p(0) · p(r) / |p|²", .x = {}, .y = {}};
  for (std::size_t row = 0; row < count; ++row) {
    double product = 0;
    for (std::size_t i = 0; i < dim; ++i) product += rows[i] * rows[row * dim + i];
    series.x.push_back(static_cast<double>(row));
    series.y.push_back(2 * product / dim);
  }
  Panel panel{.title = {},
              .x = Axis{.label = "distance (tokens)"},
              .y = Axis{.label = "likeness of two vectors"},
              .series = {std::move(series)}};
  return {.name = "sinusoidal",
          .title = "How alike two sinusoidal vectors are (an example of 512 features)",
          .caption =
              "Near positions have similar vectors; the likeness falls in ripples, and stays "
              "above 0 within these 1000 tokens, because the slow pairs hardly move.",
          .panels = {std::move(panel)}};
}

}  // namespace

std::vector<PlacedFigure> figures_of_rotary(const plot::Subject& subject) {
  std::vector<PlacedFigure> figures;
  figures.reserve(rotary_choices.size());
  for (const auto& [section, name, last] : rotary_choices) {
    figures.push_back({section, named_figure(name, {.subjects = {subject}, .last = last})});
  }
  return figures;
}

std::vector<PlacedFigure> figures_of_kind(LayerEncoding kind) {
  std::vector<PlacedFigure> figures;
  switch (kind) {
    case LayerEncoding::alibi:
      figures.push_back({"distance", alibi_figure()});
      break;
    case LayerEncoding::t5_bias:
      figures.push_back({"distance", named_figure("t5", {.last = 256})});
      figures.back().figure.title += " (the usual numbers, which a config may change)";
      break;
    case LayerEncoding::sinusoidal:
      figures.push_back({"distance", sinusoidal_figure()});
      break;
    case LayerEncoding::rotary:
    case LayerEncoding::none:
    case LayerEncoding::learned:
    case LayerEncoding::no_attention:
      break;
  }
  return figures;
}

}  // namespace rotary::cli::page
