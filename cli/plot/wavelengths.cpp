// SPDX-License-Identifier: Apache-2.0
// How many tokens each pair takes for a whole turn: λ = 2π / |ω|. A pair whose wavelength is longer
// than the trained context never finished a turn in training: what lies beyond is new to the model.
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include "cli/plot/makers.hpp"
#include "cli/plot/turning.hpp"

namespace rotary::cli::plot {
namespace {

Series wavelengths_of(const Subject& subject) {
  Series series{.name = subject.name, .style = Style::points, .x = {}, .y = {}};
  const std::vector<double>& inv_freq = subject.frequencies.inv_freq;
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    const double wavelength = 2 * std::numbers::pi / std::abs(inv_freq[pair]);
    series.x.push_back(static_cast<double>(pair));
    // A pair that stands still (p-RoPE) has none.
    series.y.push_back(std::isfinite(wavelength) ? wavelength
                                                 : std::numeric_limits<double>::quiet_NaN());
  }
  return series;
}

}  // namespace

Figure wavelengths(const Request& request) {
  Panel panel{.title = {},
              .x = Axis{.label = "pair of features"},
              .y = Axis{.label = "wavelength (tokens)", .scale = Scale::logarithmic}};
  const std::vector<Subject> subjects = subjects_of(request);
  std::map<std::int64_t, std::string> contexts;  // one line for those that several have
  for (const Subject& subject : subjects) {
    panel.series.push_back(wavelengths_of(subject));
    if (!subject.trained_context_tokens) continue;
    std::string& of = contexts[*subject.trained_context_tokens];
    of += fmt::format("{}{}", of.empty() ? "" : ", ", subject.name);
  }
  if (request.context_tokens) {
    std::string& of = contexts[*request.context_tokens];
    of += of.empty() ? "asked for" : ", asked for";
  }
  for (const auto& [tokens, of] : contexts) {
    panel.marks.push_back({.direction = Mark::Direction::horizontal,
                           .at = static_cast<double>(tokens),
                           .label = fmt::format("{} tokens: {}", tokens, of)});
  }
  return {.name = "wavelengths",
          .title = "Tokens for one turn of each pair",
          .caption =
              "Pairs above the line of a context never finish a turn within it: their later "
              "angles are new to a model that was trained there.",
          .panels = {std::move(panel)}};
}

}  // namespace rotary::cli::plot
