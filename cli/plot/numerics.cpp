// SPDX-License-Identifier: Apache-2.0
// How far cos and sin are from exact at each position, for each numerics: the largest |e^(ia) -
// exact| of all pairs, which while it is small is the error of the angle in radians.
#include "rotary/numerics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "cli/failure.hpp"
#include "cli/plot/makers.hpp"
#include "cli/plot/turning.hpp"

namespace rotary::cli::plot {
namespace {

struct Recipe {
  std::string name;
  Numerics numerics;
  DType tensors;
};

// The largest error of a pair in each row of rows, whose attention factor is `factor`.
std::vector<double> largest_errors(const Rotations& rows, const Rotations& truth, double factor) {
  std::vector<double> errors;
  for (std::int64_t row = 0; row < rows.tokens(); ++row) {
    double largest = 0;
    for (std::size_t pair = 0; pair < rows.cos(0, row).size(); ++pair) {
      const double of_cos = rows.cos(0, row)[pair] / factor - truth.cos<double>(0, row)[pair];
      const double of_sin = rows.sin(0, row)[pair] / factor - truth.sin<double>(0, row)[pair];
      largest = std::max(largest, std::hypot(of_cos, of_sin));
    }
    errors.push_back(largest);
  }
  return errors;
}

// Absent where the recipe cannot express the spec (ggml has no operation for some).
std::optional<Series> error_of(const Subject& subject, const Recipe& recipe,
                               const Integers& positions) {
  RotarySpec spec = subject.spec;
  const std::int64_t context = subject.frequencies.contexts.first;
  spec.numerics = Numerics::exact;
  const Rotations truth = turned(value_or_fail(make_frequencies(spec, context)), positions);
  spec.numerics = recipe.numerics;
  const Result<Frequencies> frequencies = make_frequencies(spec, context);
  if (!frequencies) return std::nullopt;
  const Rotations rows = value_or_fail(
      make_rotations(*frequencies, positions_of(positions), {.tensors = recipe.tensors}));
  return Series{.name = recipe.name,
                .x = as_doubles(positions),
                .y = largest_errors(rows, truth, frequencies->attention_factor)};
}

}  // namespace

Figure numerics(const Request& request) {
  const Subject subject = subject_of(request);
  // Of rules that depend on the context, as far as these frequencies hold.
  const std::int64_t last =
      std::min(request.last.value_or(1'000'000), subject.frequencies.contexts.last - 1);
  const Integers positions = by_decades(last, 12);
  Panel panel{.title = {},
              .x = Axis{.label = "position (tokens)", .scale = Scale::logarithmic},
              .y = Axis{.label = "largest error of a pair (radians)",
                        .scale = Scale::logarithmic,
                        .from = 1e-8,
                        .to = 10}};
  const std::vector<Recipe> recipes = {
      {"exact, float32", Numerics::exact, DType::f32},
      {"transformers, float32", Numerics::transformers, DType::f32},
      {"transformers, bfloat16", Numerics::transformers, DType::bf16},
      {"ggml, float32", Numerics::ggml, DType::f32},
  };
  for (const Recipe& recipe : recipes) {
    if (auto series = error_of(subject, recipe, positions))
      panel.series.push_back(*std::move(series));
  }
  return {.name = "numerics",
          .title = fmt::format("Error against position ({})", subject.name),
          .caption =
              "A float32 angle loses digits as the position grows; exact numerics reduce "
              "the angle before they round, and do not.",
          .panels = {std::move(panel)}};
}

}  // namespace rotary::cli::plot
