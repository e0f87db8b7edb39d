// SPDX-License-Identifier: Apache-2.0
// How many tokens each pair takes for a whole turn: λ = 2π / |ω|. A pair whose wavelength is longer
// than the trained context never finished a turn in training: what lies beyond is new to the model.
// Scaling rules side by side: by how much each pair turns slower than base^(-2i/d), and where in
// its ramp from "left as it is" to "divided by the factor" a pair stands.
// How far cos and sin are from exact at each position, for each numerics: the largest |e^(ia) -
// exact| of all pairs, which while it is small is the error of the angle in radians.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "cli/failure.hpp"
#include "cli/plot/makers.hpp"
#include "cli/plot/turning.hpp"
#include "rotary/numerics.hpp"
#include "rotary/scaling.hpp"

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

constexpr std::int64_t original_tokens = 4096;  // Llama 2
constexpr double usual_factor = 8;

// The rules on the same numbers: d = 128, base 10000, 4096 tokens, 8 times as many.
std::vector<Subject> usual_rules() {
  struct Row {
    std::string_view name;
    Scaling scaling;
  };
  const std::array<Row, 5> rows = {{
      {"linear (PI)", LinearScaling{.factor = usual_factor}},
      {"NTK-aware", NtkScaling{.alpha = usual_factor}},
      {"YaRN, as in code",
       YarnScaling{.factor = usual_factor, .original_context_tokens = original_tokens}},
      {"YaRN, as in the paper", YarnScaling{.factor = usual_factor,
                                            .original_context_tokens = original_tokens,
                                            .ramp = YarnRamp::turns}},
      {"Llama 3", Llama3Scaling{.factor = usual_factor,
                                .low_freq_factor = 1,
                                .high_freq_factor = 4,
                                .original_context_tokens = original_tokens}},
  }};
  std::vector<Subject> subjects;
  for (const auto& [name, rule] : rows) {
    Subject subject = usual_subject();
    subject.name = std::string(name);
    subject.spec.scaling = rule;
    subject.frequencies = value_or_fail(make_frequencies(subject.spec));
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

// Wavelength with the rule / wavelength without it, by pair; of a pair that stands still none.
std::vector<double> lengthening_of(const Subject& subject) {
  RotarySpec unscaled = subject.spec;
  unscaled.scaling = NoScaling{};
  const Frequencies plain = value_or_fail(make_frequencies(unscaled));
  std::vector<double> times;
  for (std::size_t pair = 0; pair < plain.inv_freq.size(); ++pair)
    times.push_back(plain.inv_freq[pair] / subject.frequencies.inv_freq[pair]);
  return times;
}

// Of frequencies: 1 where a pair is left as it was, 0 where it is slowed down the most.
std::vector<double> ramp_of(const std::vector<double>& lengthening) {
  const double least = 1 / *std::ranges::max_element(lengthening);
  std::vector<double> ramp;
  ramp.reserve(lengthening.size());
  for (const double times : lengthening)
    ramp.push_back(least < 1 ? (1 / times - least) / (1 - least) : 1);
  return ramp;
}

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

Figure scaling(const Request& request) {
  const std::vector<Subject> subjects = request.subjects.empty() ? usual_rules() : request.subjects;
  Panel lengths{.title = {},
                .x = Axis{.label = "pair of features"},
                .y = Axis{.label = "wavelength, times longer", .scale = Scale::logarithmic}};
  Panel ramps{.title = {},
              .x = Axis{.label = "pair of features"},
              .y = Axis{.label = "share left as it was", .from = -0.05, .to = 1.05}};
  for (const Subject& subject : subjects) {
    Series series{.name = subject.name, .x = {}, .y = lengthening_of(subject)};
    for (std::size_t pair = 0; pair < series.y.size(); ++pair)
      series.x.push_back(static_cast<double>(pair));
    Series ramp = series;
    ramp.y = ramp_of(series.y);
    lengths.series.push_back(std::move(series));
    ramps.series.push_back(std::move(ramp));
  }
  return {.name = "scaling",
          .title = request.subjects.empty()
                       ? "Scaling rules: 8 times 4096 tokens, d = 128, base 10000"
                       : "Scaling rules, by pair",
          .caption =
              "Linear scaling slows every pair down alike, NTK-aware all but the first; the "
              "others leave fast pairs alone, slow the slow ones by the whole factor, and "
              "have a ramp between.",
          .panels = {std::move(lengths), std::move(ramps)},
          .columns = 2};
}

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
