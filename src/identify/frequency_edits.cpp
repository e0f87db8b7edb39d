// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <new>

#include "base/message.hpp"
#include "identify/edits.hpp"
#include "rotary/dialect.hpp"

namespace rotary::identification {
namespace {

constexpr std::uint32_t spec_aspects =
    rule_aspect | original_aspect | ramp_aspect | attention_aspect | base_aspect | exponent_aspect;

// Calls use(member) with the rule's original context, if it has one.
template <class Rules, class Use>
void with_original(Rules& scaling, Use use) {
  std::visit(
      [&](auto& rule) {
        if constexpr (requires { rule.original_context_tokens; }) use(rule.original_context_tokens);
      },
      scaling);
}

std::int64_t original_of(const Scaling& scaling, std::int64_t otherwise) {
  with_original(scaling, [&](std::int64_t tokens) { otherwise = tokens; });
  return otherwise;
}

// The most common scaling rules with this factor. Other parameters: as configured, else usual ones.
std::vector<Scaling> rules_with(double factor, const Scaling& configured) {
  const std::int64_t original = original_of(configured, 8192);
  YarnScaling yarn;
  if (const auto* const own = std::get_if<YarnScaling>(&configured)) yarn = *own;
  yarn.original_context_tokens = original;
  const bool follows_formula = !yarn.attention_factor;
  if (!follows_formula && factor != yarn.factor) yarn.attention_factor.reset();
  yarn.factor = factor;
  Llama3Scaling llama3{.low_freq_factor = 1, .high_freq_factor = 4};
  if (const auto* const own = std::get_if<Llama3Scaling>(&configured)) llama3 = *own;
  llama3.original_context_tokens = original;
  llama3.factor = factor;
  return {LinearScaling{.factor = factor}, NtkScaling{.alpha = factor}, llama3, yarn};
}

bool same_rule(const Scaling& one, const Scaling& other) {
  return static_cast<const ScalingRules&>(one) == static_cast<const ScalingRules&>(other);
}

void add_rule(const Start& start, const Scaling& rule, EditList& list) {
  if (same_rule(rule, start.operation.spec.scaling)) return;
  list.add(rule_aspect, [rule](Operation& operation) { operation.spec.scaling = rule; });
  // Adds the rule's frequencies with the configured attention factor, because code often computes
  // that factor elsewhere.
  Operation changed = start.operation;
  changed.spec.scaling = rule;
  const auto turning = turning_of(changed, start.context_tokens);
  const double kept = start.turning.attention_factor;
  if (!turning || std::abs(turning->attention_factor - kept) < 1e-9) return;
  list.add(rule_aspect | attention_aspect, rows_field("attention_factor", to_text(kept), "kept"),
           [rule, kept](Operation& operation) {
             operation.spec.scaling = rule;
             operation.attention_factor = kept;
           });
}

ModelSpec model_alone(const Start& start) {
  ModelSpec model;
  model.model_type = start.model.model_type;
  model.rotary.push_back(start.model.rotary[start.rotary]);
  model.rotary.front().spec = start.operation.spec;
  model.rotary.front().spec.numerics = Numerics::exact;
  return model;
}

bool turn_alike(const Turning& one, const Turning& other) {
  return one.window == other.window && one.inv_freq == other.inv_freq &&
         one.attention_factor == other.attention_factor;
}

// An edit that sets the spec, except for its pairing and sense.
std::function<void(Operation&)> with_spec(RotarySpec spec) {
  return [spec = std::move(spec)](Operation& operation) {
    const RotarySpec before = operation.spec;
    operation.spec = spec;
    operation.spec.pairing = before.pairing;
    operation.spec.sense = before.sense;
  };
}

void add_engine_rule(const Start& start, const DialectRule& rule, EditList& list) {
  const auto reading = apply_rule(rule, model_alone(start));
  if (!reading && reading.error().code == ErrorCode::out_of_memory) throw std::bad_alloc();
  if (!reading || reading->acted.empty() || reading->refusal) return;
  Operation changed = start.operation;
  changed.spec = reading->model.rotary.front().spec;
  changed.spec.numerics = Numerics::exact;
  const auto turning = turning_of(changed, start.context_tokens);
  if (!turning || turn_alike(*turning, start.turning)) return;
  list.add(spec_aspects | window_aspect, rule, with_spec(changed.spec));
}

}  // namespace

void list_bases(const Start& start, EditList& list) {
  const RotarySpec& spec = start.operation.spec;
  if (spec.axes && !spec.axes->bases.empty()) return;
  if (std::holds_alternative<ExplicitScaling>(spec.scaling)) return;
  for (const double base : {1e4, 1e5, 1.5e5, 5e5, 1e6, 5e6, 1e7}) {
    if (base == spec.base) continue;
    list.add(base_aspect, [base](Operation& operation) { operation.spec.base = base; });
  }
}

void list_rules(const Start& start, EditList& list) {
  const Scaling& configured = start.operation.spec.scaling;
  add_rule(start, NoScaling{}, list);
  for (const double factor : common_factors) {
    for (const Scaling& rule : rules_with(factor, configured)) add_rule(start, rule, list);
  }
  const auto* const longrope = std::get_if<LongRopeScaling>(&configured);
  if (longrope == nullptr) return;
  for (const LongRopeSwitch lists : {LongRopeSwitch::always_short, LongRopeSwitch::always_long}) {
    LongRopeScaling rule = *longrope;
    rule.lists = lists;
    add_rule(start, rule, list);
  }
}

void list_original_contexts(const Start& start, EditList& list) {
  const Scaling& configured = start.operation.spec.scaling;
  const std::int64_t own = original_of(configured, 0);
  if (own == 0) return;
  std::vector<std::int64_t> lengths = {2048, 4096, 8192, 32768, 131072};
  const auto trained = start.model.rotary[start.rotary].trained_context_tokens;
  if (trained && std::ranges::find(lengths, *trained) == lengths.end()) lengths.push_back(*trained);
  for (const std::int64_t length : lengths) {
    if (length == own) continue;
    list.add(original_aspect, [length](Operation& operation) {
      with_original(operation.spec.scaling, [&](std::int64_t& tokens) { tokens = length; });
    });
  }
}

void list_ramps(const Start& start, EditList& list) {
  const auto* const yarn = std::get_if<YarnScaling>(&start.operation.spec.scaling);
  if (yarn == nullptr) return;
  const bool is_whole = yarn->ramp == YarnRamp::whole_pairs;
  const YarnRamp ramp = is_whole ? YarnRamp::fractional : YarnRamp::whole_pairs;
  list.add(ramp_aspect, [ramp](Operation& operation) {
    if (auto* const rule = std::get_if<YarnScaling>(&operation.spec.scaling)) rule->ramp = ramp;
  });
}

void list_blends(const Start& start, EditList& list) {
  if (!blends(start.operation.spec.scaling)) return;
  const auto add = [&](std::string_view text, Blend blend) {
    list.add(blend_aspect, rows_field("blend", "x", std::string(text)),
             [blend](Operation& operation) { operation.blend = blend; });
  };
  add("1 - x", Blend::reversed);
  add("1 - x between the ends", Blend::reversed_between);
}

void list_other_layers(const Start& start, EditList& list) {
  for (std::size_t i = 0; i < start.model.rotary.size(); ++i) {
    const ModelRotary& other = start.model.rotary[i];
    const RotarySpec& own = start.operation.spec;
    if (i == start.rotary || other.spec.head_dim != own.head_dim || other.spec.xpos) continue;
    RotarySpec spec = other.spec;
    spec.numerics = Numerics::exact;
    list.add(spec_aspects | window_aspect,
             rows_field("layer_type",
                        start.model.rotary[start.rotary].layer_type.value_or("these layers"),
                        other.layer_type.value_or("other layers")),
             with_spec(spec));
  }
}

void list_engine_rules(const Start& start, EditList& list) {
  for (const Engine engine : all_engines) {
    for (const DialectRule& rule : rules_of(engine)) add_engine_rule(start, rule, list);
  }
}

void list_exponents(const Start& start, EditList& list) {
  if (start.operation.spec.axes) return;
  if (std::holds_alternative<ExplicitScaling>(start.operation.spec.scaling)) return;
  const auto add = [&](std::string_view text, Exponents exponents, double divisor) {
    list.add(exponent_aspect, rows_field("exponents", "2i / rotary_dim", std::string(text)),
             [exponents, divisor](Operation& operation) {
               operation.exponents = exponents;
               operation.divisor = divisor;
             });
  };
  add("i / rotary_dim", Exponents::half_rate, 0);
  add("2(i + 1) / rotary_dim", Exponents::from_1, 0);
  add("2(i - 1) / rotary_dim", Exponents::from_minus_1, 0);
  const HeadWindow& window = start.turning.window;
  const auto width = static_cast<double>(window.rotary_dim);
  if (width > 2) add("2i / (rotary_dim - 2)", Exponents::hidden_size, width - 2);
  add("2i / (rotary_dim + 2)", Exponents::hidden_size, width + 2);
  if (window.rotary_dim != window.head_dim) add("2i / head_dim", Exponents::head_dim, 0);
  for (const int divisor : {1024, 2048, 4096, 5120, 8192})
    add(message("2i / ", divisor), Exponents::hidden_size, divisor);
}

void list_reversals(const Start& /*start*/, EditList& list) {
  list.add(reversal_aspect, rows_field("frequencies", "falling", "rising"),
           [](Operation& operation) { operation.reversed_frequencies = true; });
}

}  // namespace rotary::identification
