// SPDX-License-Identifier: Apache-2.0
// Rotating pairs in the plane and in 3D, wavelengths, scaling rules, and errors of angles.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <utility>

#include "apps/failure.hpp"
#include "cli/commands/model_text.hpp"
#include "cli/plot/makers.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/scaling.hpp"

namespace rotary::cli::plot {
namespace {

constexpr double degrees = 180 / std::numbers::pi;
constexpr double quarter = std::numbers::pi / 2;  // a quarter turn, in radians

// The path of the pair (1, 0), rotated to each position.
Series path_of(const Frequencies& frequencies, std::size_t pair, const Integers& at) {
  return {.x = of_turned(frequencies, at, [=](const TurnedRow& row) { return row.cos[pair]; }),
          .y = of_turned(frequencies, at, [=](const TurnedRow& row) { return row.sin[pair]; })};
}

std::string speed_text(const Frequencies& frequencies, std::size_t pair) {
  return fmt::format("pair {}: {:.3g}° a token", pair, frequencies.inv_freq[pair] * degrees);
}

Panel panel_in_plane(const Frequencies& frequencies, std::size_t pair) {
  constexpr std::int64_t positions = 6;
  constexpr double end = 1.15;
  Panel panel{.title = speed_text(frequencies, pair),
              .x = Axis{"first feature of the pair", Scale::linear, -end, end},
              .y = Axis{"second feature", Scale::linear, -end, end},
              .aspect = Aspect::equal};
  const Series path = path_of(frequencies, pair, evenly(positions - 1, positions));
  for (std::size_t p = 0; p < path.x.size(); ++p) {
    panel.series.push_back({.name = fmt::format("position {}", p),
                            .color = p,
                            .x = {0, path.x[p]},
                            .y = {0, path.y[p]}});
  }
  Series circle{.style = Style::dashed, .color = 7};
  for (int degree = 0; degree <= 360; degree += 5) {
    circle.x.push_back(std::cos(degree / degrees));
    circle.y.push_back(std::sin(degree / degrees));
  }
  panel.series.push_back(std::move(circle));
  return panel;
}

// The first pair that is at least `times` slower than pair 0, else the last.
std::size_t slower_pair(const Frequencies& frequencies, double times) {
  const std::vector<double>& inv_freq = frequencies.inv_freq;
  std::size_t pair = 0;
  while (pair + 1 < inv_freq.size() &&
         std::abs(inv_freq[pair] * times) > std::abs(inv_freq.front()))
    ++pair;
  return pair;
}

// Rules with the same numbers: d = 128, base 10000, Llama 2's 4096 tokens, factor 8.
std::vector<Subject> usual_rules() {
  constexpr std::int64_t tokens = 4096;
  constexpr double times = 8;
  const std::vector<std::pair<std::string, Scaling>> rules = {
      {"linear (PI)", LinearScaling{.factor = times}},
      {"NTK-aware", NtkScaling{.alpha = times}},
      {"YaRN, as in code", YarnScaling{.factor = times, .original_context_tokens = tokens}},
      {"YaRN, as in the paper",
       YarnScaling{.factor = times, .original_context_tokens = tokens, .ramp = YarnRamp::turns}},
      {"Llama 3", Llama3Scaling{.factor = times,
                                .low_freq_factor = 1,
                                .high_freq_factor = 4,
                                .original_context_tokens = tokens}}};
  std::vector<Subject> subjects;
  for (const auto& [name, rule] : rules) {
    Subject& subject = subjects.emplace_back(usual_subject());
    subject.name = name;
    subject.spec.scaling = rule;
    subject.frequencies = value_or_fail(make_frequencies(subject.spec));
  }
  return subjects;
}

// For each row, the largest |e^(i angle) - exact| over pairs. If small, it is the angle's error in
// radians. Absent if the numerics cannot express the spec (ggml).
std::optional<std::vector<double>> largest_errors(const RotarySpec& spec, DType tensors,
                                                  const Integers& positions, const Rotations& truth,
                                                  std::int64_t context) {
  const Result<Frequencies> frequencies = make_frequencies(spec, context);
  if (!frequencies) return std::nullopt;
  const Rotations rows =
      value_or_fail(make_rotations(*frequencies, positions_of(positions), {.tensors = tensors}));
  const double factor = frequencies->attention_factor;
  std::vector<double> errors;
  for (std::int64_t row = 0; row < rows.tokens(); ++row) {
    double& largest = errors.emplace_back(0);
    for (std::size_t pair = 0; pair < rows.cos(0, row).size(); ++pair) {
      const double of_cos = rows.cos(0, row)[pair] / factor - truth.cos<double>(0, row)[pair];
      const double of_sin = rows.sin(0, row)[pair] / factor - truth.sin<double>(0, row)[pair];
      largest = std::max(largest, std::hypot(of_cos, of_sin));
    }
  }
  return errors;
}

}  // namespace

Figure rotation(const Request& request) {
  const Subject subject = subject_of(request);
  return {.title = fmt::format("A pair of features at positions 0 to 5 ({})", subject.name),
          .caption =
              "Position p turns the pair by p times the pair's frequency. The length stays. "
              "The first pair turns fastest, each later one slower.",
          .panels = {panel_in_plane(subject.frequencies, 0),
                     panel_in_plane(subject.frequencies, slower_pair(subject.frequencies, 10))},
          .columns = 2};
}

Figure corkscrew(const Request& request) {
  const Subject subject = subject_of(request);
  const std::int64_t last = request.last.value_or(64);
  Panel panel{.x = Axis{"first feature of a pair", Scale::linear, -1, 1},
              .y = Axis{"second feature", Scale::linear, -1, 1},
              .z = Axis{"position (tokens)", Scale::linear, 0, static_cast<double>(last)}};
  // Also draws points between tokens: with tokens alone, a fast pair's line has corners.
  for (const double times : {3.0, 10.0, 40.0}) {
    const std::size_t pair = slower_pair(subject.frequencies, times);
    Series series{.name = speed_text(subject.frequencies, pair)};
    for (int step = 0; step <= 400; ++step) {
      const double position = static_cast<double>(last) * step / 400;
      const double angle = position * subject.frequencies.inv_freq[pair];
      series.x.push_back(std::cos(angle));
      series.y.push_back(std::sin(angle));
      series.z.push_back(position);
    }
    panel.series.push_back(std::move(series));
  }
  return {.title = fmt::format("Three pairs, turning as the position grows ({})", subject.name),
          .caption =
              "Each pair is a corkscrew whose pitch is its wavelength. The angles of all pairs "
              "together tell the position.",
          .panels = {std::move(panel)}};
}

Figure fast_slow(const Request& request) {
  const Subject subject = subject_of(request);
  const Frequencies& frequencies = subject.frequencies;
  const Integers at = evenly(request.last.value_or(120), 240);
  const std::size_t fast = slower_pair(frequencies, 2);
  // The fastest pair that makes at most 0.8 of a quarter turn until the last position: its second
  // feature visibly rises all the way. Without such a pair, the slowest.
  const auto rises = [&](double frequency) {
    return std::abs(frequency) * static_cast<double>(at.back()) <= 0.8 * quarter;
  };
  const auto rising = std::ranges::find_if(frequencies.inv_freq, rises);
  const std::size_t slow = std::min(static_cast<std::size_t>(rising - frequencies.inv_freq.begin()),
                                    frequencies.inv_freq.size() - 1);
  const double turned = std::abs(frequencies.inv_freq[slow]) * static_cast<double>(at.back());
  Panel panel{.x = Axis{fmt::format("pair {}, first feature", fast), Scale::linear, -1, 1},
              .y = Axis{fmt::format("pair {}, second feature", fast), Scale::linear, -1, 1},
              .z = Axis{fmt::format("pair {}, second feature", slow)}};
  Series line = path_of(frequencies, fast, at);
  line.z = path_of(frequencies, slow, at).y;
  Series points = line;
  line.name = "from one to the next";
  line.style = Style::dashed;
  line.color = 5;
  points.name = at[1] == 1 ? fmt::format("positions 0 to {}", at.back())
                           : fmt::format("positions 0, {}, ... {}", at[1], at.back());
  points.style = Style::points;
  points.color = 0;
  panel.series = {std::move(line), std::move(points)};
  return {.title = fmt::format("{} against {}", speed_text(frequencies, fast),
                               speed_text(frequencies, slow)),
          .caption = fmt::format(
              "Around the axis the fast pair tells neighbours apart; along it the slow one, "
              "which turns {:.3g}° over these positions, {}.",
              turned * degrees,
              turned < quarter ? "says roughly where in the text they are"
                               : "goes up and down: no pair is slow enough to say where they are"),
          .panels = {std::move(panel)}};
}

Figure wavelengths(const Request& request) {
  Panel panel{.x = Axis{"pair of features"}, .y = Axis{"wavelength (tokens)", Scale::logarithmic}};
  std::map<std::int64_t, std::string> contexts;  // models with one context share a line
  const auto add = [&](std::int64_t tokens, std::string_view of) {
    std::string& names = contexts[tokens];
    names += fmt::format("{}{}", names.empty() ? "" : ", ", of);
  };
  for (const Subject& subject : subjects_of(request)) {
    // λ = 2π / |ω|; a pair with frequency 0 (p-RoPE) has no point.
    const std::vector<double>& inv_freq = subject.frequencies.inv_freq;
    panel.series.push_back({.name = subject.name,
                            .style = Style::points,
                            .x = counted(inv_freq.size()),
                            .y = numbers_of(inv_freq, wavelength_tokens)});
    if (subject.trained_context_tokens) add(*subject.trained_context_tokens, subject.name);
  }
  if (request.context_tokens) add(*request.context_tokens, "asked for");
  for (const auto& [tokens, of] : contexts) {
    panel.marks.push_back({.direction = Mark::Direction::horizontal,
                           .at = static_cast<double>(tokens),
                           .label = fmt::format("{} tokens: {}", tokens, of)});
  }
  return {.title = "Tokens for one turn of each pair",
          .caption = contexts.empty()
                         ? "Slow pairs need many tokens for one turn. A pair whose wavelength is "
                           "longer than the context never finishes one."
                         : "Pairs above the line of a context never finish a turn within it. Their "
                           "later angles are new to a model that was trained on that context.",
          .panels = {std::move(panel)}};
}

// The effect of a rule on the pairs; "" for rules without a text.
std::string_view effect_of(const Scaling& scaling) {
  const std::string_view rule = rope_type(scaling);
  if (rule == "default") return "Without a rule every pair stays as it was.";
  if (rule == "linear") return "Linear scaling slows every pair down alike.";
  if (rule == "ntk" || rule == "dynamic")
    return "NTK-aware scaling slows every pair down but the first, the later ones more.";
  if (rule == "yarn" || rule == "llama3")
    return "A rule by parts (YaRN, Llama 3) keeps fast pairs, slows the slow ones by the whole "
           "factor, and has a ramp between.";
  if (rule == "longrope") return "LongRoPE has a factor for each pair, found by a search.";
  return {};
}

// Each pair's slowdown relative to base^(-2i/d), and its place in the rule's ramp.
Figure scaling(const Request& request) {
  Panel lengths{.x = Axis{"pair of features"},
                .y = Axis{"wavelength, times longer", Scale::logarithmic}};
  Panel ramps{.x = Axis{"pair of features"},
              .y = Axis{.label = "share left as it was", .from = -0.05, .to = 1.05}};
  std::vector<std::string_view> effects;  // of the shown rules
  for (const Subject& subject : request.subjects.empty() ? usual_rules() : request.subjects) {
    const std::string_view effect = effect_of(subject.spec.scaling);
    const bool is_new = std::ranges::find(effects, effect) == effects.end();
    if (!effect.empty() && is_new) effects.push_back(effect);
    RotarySpec unscaled = subject.spec;
    unscaled.scaling = NoScaling{};
    // Wavelengths with the rule, divided by those without it. A frequency of 0 has no point.
    std::vector<double> times = value_or_fail(make_frequencies(unscaled)).inv_freq;
    std::ranges::transform(times, subject.frequencies.inv_freq, times.begin(), std::divides{});
    const double least = 1 / *std::ranges::max_element(times);
    const auto share_left = [least](double longer) {  // 1: unchanged; 0: slowed the most
      return least < 1 ? (1 / longer - least) / (1 - least) : 1;
    };
    ramps.series.push_back(
        {.name = subject.name, .x = counted(times.size()), .y = numbers_of(times, share_left)});
    lengths.series.push_back(
        {.name = subject.name, .x = counted(times.size()), .y = std::move(times)});
  }
  return {.title = request.subjects.empty()
                       ? "Scaling rules: 8 times 4096 tokens, d = 128, base 10000"
                       : "Scaling rules, by pair",
          .caption = effects.empty() ? "How many times longer a turn of each pair takes."
                                     : fmt::format("{}", fmt::join(effects, " ")),
          .panels = {std::move(lengths), std::move(ramps)},
          .columns = 2};
}

Figure numerics(const Request& request) {
  struct Recipe {
    std::string_view name;
    Numerics numerics;
    DType tensors;
  };
  Subject subject = subject_of(request);
  // If the rule depends on the context, the figure ends where other frequencies begin.
  const auto [context, end] = subject.frequencies.contexts;
  const Integers positions = by_decades(std::min(request.last.value_or(1'000'000), end - 1), 12);
  RotarySpec& spec = subject.spec;
  spec.numerics = Numerics::exact;
  const Frequencies exact = value_or_fail(make_frequencies(spec, context));
  const Rotations truth =
      value_or_fail(make_rotations(value_or_fail(make_frequencies(exact.window, exact.inv_freq, 1)),
                                   positions_of(positions), {.rows = RowDType::f64}));
  const std::string_view counted = begins_anew_on_axes(spec) ? "coordinate" : "position (tokens)";
  Panel panel{.x = Axis{std::string(counted), Scale::logarithmic},
              .y = Axis{"largest error of a pair (radians)", Scale::logarithmic, 1e-8, 10}};
  for (const auto& [name, numerics, tensors] :
       {Recipe{"exact, float32", Numerics::exact, DType::f32},
        Recipe{"transformers, float32", Numerics::transformers, DType::f32},
        Recipe{"transformers, bfloat16", Numerics::transformers, DType::bf16},
        Recipe{"ggml, float32", Numerics::ggml, DType::f32}}) {
    spec.numerics = numerics;
    auto errors = largest_errors(spec, tensors, positions, truth, context);
    if (!errors) continue;
    panel.series.push_back(
        {.name = std::string(name), .x = as_doubles(positions), .y = *std::move(errors)});
  }
  return {.title = fmt::format("Error against position ({})", subject.name),
          .caption =
              "A float32 angle loses digits as the position grows. Exact numerics lose none: "
              "they reduce the angle before they round it.",
          .panels = {std::move(panel)}};
}

}  // namespace rotary::cli::plot
