// SPDX-License-Identifier: Apache-2.0
#include "cli/report/figures_of.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "cli/failure.hpp"

namespace rotary::cli::page {
namespace {

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

plot::Figure named_figure(std::string_view name, const plot::Request& request) {
  const plot::FigureMaker* const maker = plot::find_figure(name);
  if (maker == nullptr) {
    throw Failure(ExitCode::internal, fmt::format("there is no figure of the name {}", name));
  }
  return maker->make(request);
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
  const auto add = [&](std::string_view name, std::string_view remark) {
    figures.push_back({"distance", named_figure(name, {.last = last_distance})});
    figures.back().figure.title += remark;
  };
  switch (kind) {
    case LayerEncoding::alibi:
      // How many heads there are is not part of what a config is resolved to.
      add("alibi", " (an example)");
      break;
    case LayerEncoding::t5_bias:
      add("t5", " (the usual numbers, which a config may change)");
      break;
    case LayerEncoding::sinusoidal:
      add("sinusoidal", " (an example)");
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
