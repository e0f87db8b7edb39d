// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <iomanip>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "identify/faulty_rotation.hpp"
#include "reference/frequencies.hpp"

namespace rotary::test {
namespace {

template <class Member, class Value>
std::function<void(FaultyRotation&)> with(Member FaultyRotation::*member, Value value) {
  return [member, value](FaultyRotation& r) { r.*member = value; };
}

std::string digits(double number) {
  std::ostringstream text;
  text << std::setprecision(17) << number;
  return text.str();
}

void add_rules(const RotarySpec& spec, std::vector<Planted>& all) {
  const auto add = [&](const Scaling& rule, std::string found) {
    if (static_cast<const ScalingRules&>(rule) == static_cast<const ScalingRules&>(spec.scaling))
      return;
    const bool same_type = rope_type(rule) == rope_type(spec.scaling);
    all.push_back({"scaling", same_type ? "factor" : "rope_type",
                   same_type ? std::move(found) : std::string(rope_type(rule)),
                   [rule](FaultyRotation& r) { r.spec.scaling = rule; }});
  };
  add(NoScaling{}, "");
  std::int64_t original = 8192;
  if (const auto* const own = std::get_if<Llama3Scaling>(&spec.scaling))
    original = own->original_context_tokens;
  const auto* const own_yarn = std::get_if<YarnScaling>(&spec.scaling);
  if (own_yarn != nullptr) original = own_yarn->original_context_tokens;
  for (const double factor : {2.0, 4.0, 8.0, 16.0, 32.0}) {
    const std::string text = digits(factor);
    add(LinearScaling{factor}, text);
    add(NtkScaling{factor}, text);
    add(Llama3Scaling{factor, 1, 4, original}, text);
    YarnScaling yarn{.factor = factor, .original_context_tokens = original};
    if (own_yarn != nullptr) yarn.ramp = own_yarn->ramp;
    add(yarn, text);
  }
}

void add_lengths(const RotarySpec& spec, std::vector<Planted>& all) {
  for (const std::int64_t length : {4096, 8192, 32768}) {
    const auto plant = [length](FaultyRotation& r) {
      if (auto* const rule = std::get_if<Llama3Scaling>(&r.spec.scaling))
        rule->original_context_tokens = length;
      if (auto* const rule = std::get_if<YarnScaling>(&r.spec.scaling))
        rule->original_context_tokens = length;
    };
    FaultyRotation changed{.spec = spec};
    plant(changed);
    if (static_cast<const ScalingRules&>(changed.spec.scaling) !=
        static_cast<const ScalingRules&>(spec.scaling))
      all.push_back(
          {"original_context", "original_max_position_embeddings", std::to_string(length), plant});
  }
  const auto* const yarn = std::get_if<YarnScaling>(&spec.scaling);
  if (yarn != nullptr || std::holds_alternative<Llama3Scaling>(spec.scaling)) {
    using enum Blended;
    all.push_back({"blend", "blend", "1 - x", with(&FaultyRotation::blended, reversed)});
    all.push_back(
        {"blend", "blend", "1 - x between the ends", with(&FaultyRotation::blended, between)});
  }
  if (yarn == nullptr) return;
  const bool is_whole = yarn->ramp == YarnRamp::whole_pairs;
  const YarnRamp ramp = is_whole ? YarnRamp::fractional : YarnRamp::whole_pairs;
  all.push_back(
      {"ramp", "ramp", is_whole ? "fractional" : "whole_pairs", [ramp](FaultyRotation& r) {
         if (auto* const rule = std::get_if<YarnScaling>(&r.spec.scaling)) rule->ramp = ramp;
       }});
}

void add_factors(const RotarySpec& spec, std::vector<Planted>& all) {
  const auto add = [&](std::string found, std::function<void(FaultyRotation&)> plant) {
    all.push_back({"attention_factor", "attention_factor", std::move(found), std::move(plant)});
  };
  if (reference::frequencies(spec).attention_factor != 1) {
    add("1", with(&FaultyRotation::factor, 1));
    add("", with(&FaultyRotation::times_factor, 2));
  }
  const auto root = std::sqrt(static_cast<long double>(spec.head_dim));
  all.push_back({"vector_factor", "vectors", "x / sqrt(" + std::to_string(spec.head_dim) + ")",
                 with(&FaultyRotation::times_vector, 1 / root)});
  const auto* const rule = std::get_if<Llama3Scaling>(&spec.scaling);
  if (rule == nullptr) return;
  const double formula = 1 + 0.1 * std::log(rule->factor);
  for (const double value : {formula, formula * formula})
    add("", with(&FaultyRotation::factor, value));
}

void add_positions(std::vector<Planted>& all) {
  for (const int offset : {1, -1, 2}) {
    const std::string text = offset > 0 ? "p + " : "p - ";
    all.push_back({"position_offset", "positions", text + std::to_string(std::abs(offset)),
                   with(&FaultyRotation::offset, offset)});
  }
  all.push_back({"rotated_twice", "", "", [](FaultyRotation& r) {
                   r.stretch = 2;
                   r.times_factor = 2;
                 }});
  all.push_back({"not_rotated", "", "", with(&FaultyRotation::off, true)});
  all.push_back({"reversed", "", "", with(&FaultyRotation::reversed, true)});
  const auto add_rounded = [&](std::string_view hypothesis, std::string field, auto member) {
    all.push_back({hypothesis, std::move(field), "bf16", with(member, DType::bf16)});
  };
  add_rounded("rounded_positions", "positions", &FaultyRotation::short_positions);
  add_rounded("rounded_frequencies", "inv_freq", &FaultyRotation::short_frequencies);
  add_rounded("rounded_angles", "angles", &FaultyRotation::short_angles);
}

void add_windows(const RotarySpec& spec, std::vector<Planted>& all) {
  const std::int64_t d = spec.head_dim;
  if (spec.axes) return;
  const std::vector<std::pair<std::int64_t, std::int64_t>> places = {
      {d / 2, 0}, {d / 2, d / 2}, {d / 4, 0}, {d, 0}};
  for (const auto& [width, first] : places) {
    if (width == rotated_width(spec) && first == spec.first_feature) continue;
    const bool moved = width == rotated_width(spec);
    all.push_back({"window", moved ? "first_feature" : "rotary_dim",
                   std::to_string(moved ? first : width),
                   [width = width, first = first](FaultyRotation& r) {
                     r.spec.rotary_dim = width;
                     r.spec.first_feature = first;
                   }});
  }
}

void add_axes(const RotarySpec& spec, std::vector<Planted>& all) {
  if (!spec.axes) return;
  const bool is_blocks = spec.axes->arrangement == AxisArrangement::blocks;
  const auto other = is_blocks ? AxisArrangement::interleaved : AxisArrangement::blocks;
  all.push_back({"axis_arrangement", "", "",
                 [other](FaultyRotation& r) { r.spec.axes->arrangement = other; }});
  const std::vector<std::pair<std::string, std::vector<std::size_t>>> orders = {
      {"0, 2, 1", {0, 2, 1}}, {"2, 1, 0", {2, 1, 0}}, {"0, 0, 0", {0, 0, 0}}};
  for (const auto& [text, order] : orders)
    all.push_back({"axis_order", "coordinates", text, with(&FaultyRotation::coordinates, order)});
}

}  // namespace

std::vector<Planted> single_mistakes(const RotarySpec& spec) {
  std::vector<Planted> all = {{"", "", "", [](FaultyRotation&) {}}};
  for (const Pairing pairing : all_pairings) {
    if (pairing == spec.pairing.get()) continue;
    all.push_back({"pairing", "pairing", std::string(to_string(pairing)),
                   [pairing](FaultyRotation& r) { r.spec.pairing = pairing; }});
  }
  const Sense other = spec.sense == Sense::positive ? Sense::negative : Sense::positive;
  all.push_back({"sense", "", "", [other](FaultyRotation& r) { r.spec.sense = other; }});
  all.push_back({"cos_sin_swapped", "", "", with(&FaultyRotation::swapped, true)});
  for (const double base : {1e4, 1e5, 1.5e5, 5e5, 1e6, 5e6, 1e7}) {
    if (base == spec.base.get()) continue;
    all.push_back({"base", "base", std::to_string(static_cast<std::int64_t>(base)),
                   [base](FaultyRotation& r) { r.spec.base = base; }});
  }
  add_rules(spec, all);
  add_lengths(spec, all);
  add_factors(spec, all);
  add_positions(all);
  add_windows(spec, all);
  add_axes(spec, all);
  if (spec.axes) return all;
  const auto add_exponents = [&](std::string found, Rate rate) {
    all.push_back({"exponents", "exponents", std::move(found), with(&FaultyRotation::rate, rate)});
  };
  add_exponents("i / rotary_dim", Rate::half);
  add_exponents("2(i + 1) / rotary_dim", Rate::from_1);
  add_exponents("2(i - 1) / rotary_dim", Rate::from_minus_1);
  add_exponents("2i / (rotary_dim - 2)", Rate::endpoint);
  add_exponents("2i / 4096", Rate::of_4096);
  all.push_back({"table_order", "", "", with(&FaultyRotation::other_table, true)});
  if (rotated_width(spec) != spec.head_dim) add_exponents("2i / head_dim", Rate::of_head_dim);
  return all;
}

}  // namespace rotary::test
