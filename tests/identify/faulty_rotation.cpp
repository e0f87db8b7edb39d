// SPDX-License-Identifier: Apache-2.0
#include "identify/faulty_rotation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <sstream>

#include "reference/axes.hpp"
#include "reference/frequencies.hpp"
#include "reference/recipes.hpp"
#include "support/elements.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

using Real = long double;

Real rounded(const std::optional<DType>& dtype, Real value) {
  return dtype ? static_cast<Real>(reference::nearest(*dtype, value)) : value;
}

Real exponent(Rate rate, const RotarySpec& spec, std::size_t pair) {
  const auto i = static_cast<Real>(pair);
  const auto d = static_cast<Real>(rotated_width(spec));
  if (rate == Rate::half) return i / d;
  if (rate == Rate::from_1) return 2 * (i + 1) / d;
  if (rate == Rate::from_minus_1) return 2 * (i - 1) / d;
  if (rate == Rate::endpoint) return 2 * i / (d - 2);
  if (rate == Rate::of_head_dim) return 2 * i / static_cast<Real>(spec.head_dim);
  return 2 * i / (rate == Rate::of_4096 ? 4096 : d);
}

// Llama 3's rule depends on the frequency itself. Other rules multiply it by a factor of the pair.
Real llama3(const Llama3Scaling& rule, Real theta) {
  const Real length = 2 * std::numbers::pi_v<Real> / theta;
  const auto whole = static_cast<Real>(rule.original_context_tokens);
  if (length < whole / rule.high_freq_factor) return theta;
  if (length > whole / rule.low_freq_factor) return theta / rule.factor;
  const Real smooth =
      (whole / length - rule.low_freq_factor) / (rule.high_freq_factor - rule.low_freq_factor);
  return (1 - smooth) * theta / rule.factor + smooth * theta;
}

// Each frequency is (1 - x) slow + x fast. Replaces x by 1 - x, as rotation.blended says.
void reverse_blend(const FaultyRotation& rotation, std::vector<Real>& frequencies) {
  FaultyRotation end{.spec = rotation.spec, .rate = rotation.rate};
  end.spec.scaling = NoScaling{};
  const std::vector<Real> fast = frequencies_of(end);
  if (const auto* const rule = std::get_if<YarnScaling>(&rotation.spec.scaling))
    end.spec.scaling = LinearScaling{rule->factor};
  if (const auto* const rule = std::get_if<Llama3Scaling>(&rotation.spec.scaling))
    end.spec.scaling = LinearScaling{rule->factor};
  if (const auto* const rule = std::get_if<NtkByPartsScaling>(&rotation.spec.scaling))
    end.spec.scaling = NtkByPartsScaling{.factor = rule->factor,
                                         .original_context_tokens = rule->original_context_tokens,
                                         .ntk_factor = rule->ntk_factor,
                                         .extrapolation_factor = 0};
  const std::vector<Real> slow = frequencies_of(end);
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    if (fast[i] == slow[i]) continue;
    const Real x = (frequencies[i] - slow[i]) / (fast[i] - slow[i]);
    const bool is_between = x > 1e-12L && x < 1 - 1e-12L;
    if (rotation.blended == Blended::reversed || is_between)
      frequencies[i] = x * slow[i] + (1 - x) * fast[i];
  }
}

struct Row {
  Real cos = 1;
  Real sin = 0;
};

Row row_of(const FaultyRotation& rotation, Real frequency, std::int64_t position, Real factor) {
  const Real p = rounded(rotation.short_positions,
                         static_cast<Real>(position) * rotation.stretch + rotation.offset);
  Real angle = p * frequency;
  if (rotation.float_angles) angle = static_cast<float>(p) * static_cast<float>(frequency);
  if (rotation.short_angles)
    angle = rounded(rotation.short_angles,
                    rounded(rotation.short_angles, p) * rounded(rotation.short_angles, frequency));
  const Row row{rounded(rotation.short_rows, factor * std::cos(angle)),
                rounded(rotation.short_rows, factor * std::sin(angle))};
  return rotation.swapped ? Row{row.sin, row.cos} : row;
}

// Whether `planted` is empty, equals `found`, or is a number within 1 % of it.
bool is_found(const std::string& found, const std::string& planted) {
  if (planted.empty() || found == planted) return true;
  char* end = nullptr;
  const double wanted = std::strtod(planted.c_str(), &end);
  if (end == planted.c_str() || *end != 0) return false;
  const double seen = std::strtod(found.c_str(), &end);
  return *end == 0 && std::abs(seen - wanted) <= 0.01 * std::abs(wanted);
}

bool names(const Cause& cause, const Planted& planted) {
  // An engine's rule that changes the same field counts as the cause.
  const bool is_rule = cause.hypothesis->name == "engine_rule";
  if (cause.hypothesis->name != planted.hypothesis && !is_rule) return false;
  if (planted.field.empty()) return !is_rule;
  return std::ranges::any_of(cause.fields, [&](const FieldDifference& field) {
    return field.field == planted.field && is_found(field.other, planted.found);
  });
}

bool names(const Explanation& explanation, const std::vector<Planted>& planted) {
  std::size_t wanted = 0;
  for (const Planted& each : planted) {
    if (each.hypothesis.empty()) continue;
    ++wanted;
    const bool is_there = std::ranges::any_of(
        explanation.causes, [&](const Cause& cause) { return names(cause, each); });
    if (!is_there) return false;
  }
  return wanted == explanation.causes.size();
}

}  // namespace

std::vector<Real> frequencies_of(const FaultyRotation& rotation) {
  auto frequencies = reference::frequencies(rotation.spec).inv_freq;
  const Real base = rotation.spec.base.get();
  const auto* const rule = std::get_if<Llama3Scaling>(&rotation.spec.scaling);
  for (std::size_t i = 0; i < frequencies.size() && rotation.rate != Rate::right; ++i) {
    const Real theta = std::pow(base, -exponent(rotation.rate, rotation.spec, i));
    const Real plain = std::pow(base, -exponent(Rate::right, rotation.spec, i));
    const Real scaled = rule != nullptr ? llama3(*rule, theta) : frequencies[i] * theta / plain;
    frequencies[i] = std::copysign(scaled, frequencies[i]);
  }
  if (rotation.blended != Blended::right) reverse_blend(rotation, frequencies);
  if (rotation.reversed) std::ranges::reverse(frequencies);
  for (Real& frequency : frequencies) frequency = rounded(rotation.short_frequencies, frequency);
  return frequencies;
}

Heads random_heads(std::int64_t tokens, std::int64_t features, DType dtype, Random& random) {
  Heads heads{.dtype = dtype, .features = features, .values = {}};
  for (std::int64_t i = 0; i < tokens * features; ++i) {
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    const double value = radius * std::cos(2 * std::numbers::pi * random.unit());
    heads.values.push_back(reference::nearest(dtype, value));
  }
  return heads;
}

Heads rotated(const Heads& heads, const FaultyRotation& rotation, const Coordinates& positions) {
  Heads after = heads;
  if (rotation.off) return after;
  for (double& feature : after.values)
    feature = reference::nearest(heads.dtype, rotation.times_vector * feature);
  const RotarySpec& spec = rotation.spec;
  const auto frequencies = frequencies_of(rotation);
  Real factor = rotation.factor.value_or(reference::frequencies(spec).attention_factor);
  if (rotation.times_factor == 2) factor *= factor;
  factor *= rotation.times_vector;
  const auto sources = spec.axes ? reference::pair_sources(*spec.axes)
                                 : std::vector<reference::PairSource>(frequencies.size());
  const auto first = static_cast<std::size_t>(spec.first_feature);
  const std::size_t pairs = frequencies.size();
  const auto width = static_cast<std::size_t>(heads.features);
  for (std::size_t t = 0; t < positions.front().size(); ++t) {
    for (std::size_t i = 0; i < pairs; ++i) {
      auto axis = static_cast<std::size_t>(sources[i].axis);
      if (axis < rotation.coordinates.size()) axis = rotation.coordinates[axis];
      const std::int64_t p = positions[positions.size() == 1 ? 0 : axis][t];
      const bool half_in = spec.pairing == Pairing::half;
      const bool half_out = spec.pairing != Pairing::interleaved;
      const std::size_t a = half_in ? i : 2 * i;
      const std::size_t b = half_in ? i + pairs : 2 * i + 1;
      const auto of_feature = [&](std::size_t feature) {
        if (!rotation.other_table) return frequencies[i];
        return frequencies[half_in ? feature / 2 : feature % pairs];
      };
      const Row one = row_of(rotation, of_feature(a), p, factor);
      const Row two = row_of(rotation, of_feature(b), p, factor);
      const Real x = heads.values[t * width + first + a];
      const Real y = heads.values[t * width + first + b];
      const std::size_t to = t * width + first;
      after.values[to + (half_out ? i : 2 * i)] =
          reference::nearest(heads.dtype, x * one.cos - y * one.sin);
      after.values[to + (half_out ? i + pairs : 2 * i + 1)] =
          reference::nearest(heads.dtype, y * two.cos + x * two.sin);
    }
  }
  return after;
}

ModelSpec model_with(const RotarySpec& spec) {
  ModelSpec model;
  model.rotary.push_back({.layer_type = {}, .spec = spec, .trained_context_tokens = {}});
  return model;
}

Identification identify_heads(const Heads& before, const Heads& after, const Coordinates& positions,
                              const IdentifyOptions& options, std::int64_t rows) {
  const Extents extents{
      .batch = rows, .tokens = before.tokens() / rows, .heads = 1, .features = before.features};
  const auto stored = [](const Heads& heads) {
    const auto size = static_cast<std::size_t>(size_in_bytes(heads.dtype));
    std::vector<std::uint64_t> memory(heads.values.size() * size / 8 + 1);
    auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
    for (std::size_t i = 0; i < heads.values.size(); ++i)
      store(heads.dtype, bytes + i * size, heads.values[i]);
    return memory;
  };
  const auto first = stored(before);
  const auto second = stored(after);
  std::vector<std::int64_t> flat;
  for (const auto& axis : positions) flat.insert(flat.end(), axis.begin(), axis.end());
  IdentifyOptions all = options;
  if (!positions.empty())
    all.positions = positions_of(flat, rows, static_cast<std::int64_t>(positions.size()));
  return value_of(identify({first.data(), before.dtype, extents, strides_bthd(extents)},
                           {second.data(), after.dtype, extents, strides_bthd(extents)}, all));
}

Identification identified(const Trial& trial, Random& random) {
  const auto draw = [&] { return random_heads(8, trial.spec.head_dim, trial.dtype, random); };
  FaultyRotation rotation{.spec = trial.spec};
  for (const Planted& each : trial.planted) each.plant(rotation);
  const Heads before = draw();
  const Heads after = trial.unrelated ? draw() : rotated(before, rotation, trial.positions);
  return identify_heads(before, after, trial.positions,
                        {.model = model_with(trial.spec), .most_causes = trial.most_causes});
}

RotarySpec llama31() {
  return {.head_dim = 128,
          .base = 5e5,
          .pairing = Pairing::half,
          .scaling = Llama3Scaling{8, 1, 4, 8192}};
}

Outcome outcome_of(const Identification& found, const std::vector<Planted>& planted) {
  if (found.tied == 0) return Outcome::rejected;
  for (std::size_t i = 0; i < found.tied; ++i) {
    if (names(found.explanations[i], planted))
      return found.tied == 1 ? Outcome::named : Outcome::tied;
  }
  return Outcome::wrong;
}

std::uint64_t given(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

Coordinates run_from(std::int64_t first) {
  Coordinates positions(1);
  for (std::int64_t t = 0; t < 8; ++t) positions.front().push_back(first + t);
  return positions;
}

std::string shown(const Identification& found) {
  std::ostringstream text;
  text << to_string(found.verdict) << ", " << found.tied << " tied, tolerance " << found.tolerance
       << "\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(found.explanations.size(), 6); ++i) {
    const Explanation& each = found.explanations[i];
    text << "  " << each.residual << " bits " << each.bit_equal << " "
         << to_string(each.arithmetic);
    for (const Cause& cause : each.causes) {
      text << " | " << cause.hypothesis->name << cause.rule;
      for (const FieldDifference& field : cause.fields)
        text << " " << field.field << ": " << field.one << " -> " << field.other;
    }
    text << "\n";
  }
  return text.str();
}

}  // namespace rotary::test
