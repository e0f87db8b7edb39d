// SPDX-License-Identifier: Apache-2.0
// Calls that compare two models, and calls that read one model as an engine does.
#include <array>

#include "public_calls/call.hpp"
#include "rotary/dialect.hpp"
#include "rotary/model_difference.hpp"
#include "support/resolving.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

// A YaRN config. Engines read its factor, ramp and attention factor in different ways.
std::string yarn() {
  return llama_with(R"("rope_scaling": {"rope_type": "yarn",)"
                    R"( "factor": 8.0, "truncate": false, "attention_factor": 1.5,)"
                    R"( "original_max_position_embeddings": 1024})");
}

ModelSpec model_with_rule(Scaling scaling) {
  ModelSpec model;
  model.rotary.push_back({.layer_type = {},
                          .spec = {.head_dim = 8,
                                   .base = 10000.0,
                                   .pairing = Pairing::half,
                                   .scaling = std::move(scaling)},
                          .trained_context_tokens = {}});
  model.layers.resize(2);
  return model;
}

Calls names() {
  return {
      {"rotary::to_string(rotary::Engine)", [] { return to_string(Engine::llama_cpp); }},
      {"rotary::to_string(rotary::Evidence)", [] { return to_string(Evidence::run); }},
      {"rotary::to_string(rotary::LengthPolicy)",
       [] { return to_string(LengthPolicy::each_call); }},
      {"rotary::to_string(rotary::FieldEffect)", [] { return to_string(FieldEffect::rows); }},
      {"rotary::to_string(rotary::Agreement)", [] { return to_string(Agreement::same); }},
      {"rotary::to_string[abi:cxx11](rotary::Dialect const&)",
       [] {
         return to_string(Dialect{Engine::transformers, EngineVersion{4, 51}});
       }},
      {"rotary::parse_dialect(", [] { return parse_dialect("llama.cpp"); }},
      {"rotary::parse_dialect(", "an unknown name",
       [] { return parse_dialect("an engine that nobody knows by this name"); }},
      {"rotary::facts_of(", [] { return facts_of(Engine::vllm).source; }},
      {"rotary::rules_of(", [] { return rules_of(Engine::mlx).size(); }},
      {"rotary::families_looked_at(", [] { return families_looked_at(Engine::transformers); }},
  };
}

Calls lengths() {
  static constexpr std::array<std::int64_t, 3> calls = {10, 4097, 100};
  return {{"rotary::length_in_force(",
           [] { return length_in_force(LengthPolicy::kept_above_trained, 2048, calls); }},
          {"rotary::length_in_force(", "a length of 0",
           [] { return length_in_force(LengthPolicy::longest_call, 0, calls); }}};
}

Calls comparisons() {
  const ModelSpec plain = model_with_rule(NoScaling{});
  const ModelSpec linear = model_with_rule(LinearScaling{2});
  const ModelSpec dynamic =
      model_with_rule(DynamicNtkScaling{.factor = 2, .original_context_tokens = 64});
  const ModelDifference difference = value_of(compare_models(plain, linear));
  return {
      {"rotary::ModelDifference::differs(", [=] { return difference.differs(); }},
      {"rotary::RotaryDifference::differs(", [=] { return difference.rotary.front().differs(); }},
      {"rotary::compare_models(", [=] { return compare_models(plain, linear); }},
      {"rotary::compare_models(", "lengths",
       [=] {
         return compare_models(dynamic, dynamic,
                               {.context_tokens = 256,
                                .one = LengthPolicy::kept_above_trained,
                                .other = LengthPolicy::last_long_call});
       }},
      {"rotary::compare_readings(",
       [one = value_of(read_as(yarn(), Dialect{})),
        other = value_of(read_as(yarn(), Dialect{Engine::mlx, {}}))] {
         return compare_readings(one, other);
       }},
      {"rotary::compare_rows(",
       [one = value_of(make_frequencies(plain.rotary.front().spec)),
        other = value_of(make_frequencies(linear.rotary.front().spec))] {
         return compare_rows(one, other, 64);
       }},
  };
}

}  // namespace

Calls dialect_calls() {
  Calls calls = names();
  add(calls, lengths());
  add(calls, comparisons());
  const ModelSpec model = value_of(resolve(yarn()));
  for (const Engine engine : all_engines) {
    const Dialect dialect{engine, {}};
    const Adding add{calls, std::string(to_string(engine))};
    add("rotary::read_as(std::basic_string_view",
        [dialect, config = yarn()] { return read_as(config, dialect); });
    add("rotary::read_as(rotary::ModelSpec const&",
        [dialect, model] { return read_as(model, dialect); });
    for (const DialectRule& rule : rules_of(engine)) {
      calls.emplace_back("rotary::apply_rule(", rule.name,
                         [&rule, model] { return apply_rule(rule, model); });
    }
  }
  return calls;
}

}  // namespace rotary::test
