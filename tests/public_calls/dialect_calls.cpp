// SPDX-License-Identifier: Apache-2.0
// Two models beside each other, and one model as engines read it.
#include <array>

#include "public_calls/call.hpp"
#include "rotary/dialect.hpp"
#include "rotary/model_difference.hpp"
#include "support/resolving.hpp"
#include "support/result.hpp"

namespace rotary::test {
namespace {

// YaRN whose factor, ramp and attention factor engines read differently.
std::string yarn() {
  return llama_with(R"("rope_scaling": {"rope_type": "yarn",)"
                    R"( "factor": 8.0, "truncate": false, "attention_factor": 1.5,)"
                    R"( "original_max_position_embeddings": 1024})");
}

RotarySpec spec_with(Scaling scaling) {
  return {.head_dim = 8, .base = 10000.0, .pairing = Pairing::half, .scaling = std::move(scaling)};
}

ModelSpec model_with_rule(Scaling scaling) {
  ModelSpec model;
  model.rotary.push_back(
      {.layer_type = {}, .spec = spec_with(std::move(scaling)), .trained_context_tokens = {}});
  model.layers.resize(2);
  return model;
}

const DynamicNtkScaling dynamic{.factor = 2, .original_context_tokens = 64};

Calls names() {
  return {
      without_sizes("rotary::to_string(rotary::Engine)", "",
                    [] { return to_string(Engine::llama_cpp); }),
      without_sizes("rotary::to_string(rotary::Evidence)", "",
                    [] { return to_string(Evidence::run); }),
      without_sizes("rotary::to_string(rotary::LengthPolicy)", "",
                    [] { return to_string(LengthPolicy::each_call); }),
      without_sizes("rotary::to_string(rotary::FieldEffect)", "",
                    [] { return to_string(FieldEffect::rows); }),
      without_sizes("rotary::to_string(rotary::Agreement)", "",
                    [] { return to_string(Agreement::same); }),
      without_sizes("rotary::to_string[abi:cxx11](rotary::Dialect const&)", "",
                    [] {
                      return to_string(Dialect{Engine::transformers, EngineVersion{4, 51}});
                    }),
      without_sizes("rotary::parse_dialect(", "", [] { return parse_dialect("llama.cpp"); }),
      without_sizes("rotary::parse_dialect(", "a name of none",
                    [] { return parse_dialect("an engine that nobody knows by this name"); }),
      without_sizes("rotary::facts_of(", "", [] { return facts_of(Engine::vllm).source; }),
      without_sizes("rotary::rules_of(", "", [] { return rules_of(Engine::mlx).size(); }),
      without_sizes("rotary::families_looked_at(", "",
                    [] { return families_looked_at(Engine::transformers); }),
  };
}

Calls lengths() {
  static constexpr std::array<std::int64_t, 3> calls = {10, 4097, 100};
  return {
      without_sizes("rotary::length_in_force(", "",
                    [] { return length_in_force(LengthPolicy::kept_above_trained, 2048, calls); }),
      without_sizes("rotary::length_in_force(", "a length of 0",
                    [] { return length_in_force(LengthPolicy::longest_call, 0, calls); })};
}

Calls comparisons() {
  const ModelDifference difference =
      value_of(compare_models(model_with_rule(NoScaling{}), model_with_rule(LinearScaling{2})));
  return {
      without_sizes("rotary::ModelDifference::differs(", "",
                    [difference] { return difference.differs(); }),
      without_sizes("rotary::RotaryDifference::differs(", "",
                    [difference] { return difference.rotary.front().differs(); }),
      without_sizes(
          "rotary::compare_models(", "",
          [one = model_with_rule(NoScaling{}), other = model_with_rule(LinearScaling{2})] {
            return compare_models(one, other);
          }),
      without_sizes("rotary::compare_readings(", "",
                    [one = value_of(read_as(yarn(), Dialect{})),
                     other = value_of(read_as(yarn(), Dialect{Engine::mlx, {}}))] {
                      return compare_readings(one, other);
                    }),
      without_sizes("rotary::compare_models(", "lengths",
                    [model = model_with_rule(dynamic)] {
                      return compare_models(model, model,
                                            {.context_tokens = 256,
                                             .one = LengthPolicy::kept_above_trained,
                                             .other = LengthPolicy::last_long_call});
                    }),
      without_sizes("rotary::compare_rows(", "",
                    [one = value_of(make_frequencies(spec_with(NoScaling{}))),
                     other = value_of(make_frequencies(spec_with(LinearScaling{2})))] {
                      return compare_rows(one, other, 64);
                    }),
  };
}

}  // namespace

Calls dialect_calls() {
  Calls calls = names();
  add(calls, lengths());
  add(calls, comparisons());
  for (const Engine engine : all_engines) {
    calls.push_back(without_sizes("rotary::read_as(std::basic_string_view", to_string(engine),
                                  [engine, config = yarn()] {
                                    return read_as(config, Dialect{engine, {}});
                                  }));
    calls.push_back(without_sizes("rotary::read_as(rotary::ModelSpec const&", to_string(engine),
                                  [engine, model = value_of(resolve(yarn()))] {
                                    return read_as(model, Dialect{engine, {}});
                                  }));
    for (const DialectRule& rule : rules_of(engine)) {
      calls.push_back(without_sizes(
          "rotary::apply_rule(", rule.name,
          [&rule, model = value_of(resolve(yarn()))] { return apply_rule(rule, model); }));
    }
  }
  return calls;
}

}  // namespace rotary::test
