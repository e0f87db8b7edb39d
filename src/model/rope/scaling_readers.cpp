// SPDX-License-Identifier: Apache-2.0
#include "model/rope/scaling_readers.hpp"

#include <array>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/described.hpp"
#include "base/message.hpp"
#include "model/json/spelling.hpp"

namespace rotary {
namespace {

Scaling read_default(DictionaryReader&) { return NoScaling{}; }

Scaling read_linear(DictionaryReader& reader) {
  const double factor = reader.required_number("factor");
  reader.warn_below_one(factor);
  return LinearScaling{.factor = factor};
}

Scaling read_llama3(DictionaryReader& reader) {
  const Llama3Scaling rule{.factor = reader.required_number("factor"),
                           .low_freq_factor = reader.required_number("low_freq_factor"),
                           .high_freq_factor = reader.required_number("high_freq_factor"),
                           .original_context_tokens = reader.original_context()};
  const auto trained = reader.context().max_position_embeddings;
  if (trained && rule.original_context_tokens >= *trained) {
    reader.warn(message(reader.from().path, "original_max_position_embeddings, ",
                        rule.original_context_tokens, ", is not below max_position_embeddings, ",
                        *trained));
  }
  reader.warn_below_one(rule.factor);
  return rule;
}

// HunYuan's "dynamic" with alpha has a fixed base. The other keys of its files have no effect.
Scaling read_hunyuan(DictionaryReader& reader, double alpha) {
  std::vector<std::string_view> ignored;
  for (const std::string_view key :
       {"factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"}) {
    if (reader.number(key)) ignored.push_back(key);
  }
  if (!ignored.empty()) {
    reader.warn(message(reader.from().path, "alpha makes the base a fixed one; ", join(ignored),
                        " beside it do nothing, as in Transformers"));
  }
  return NtkScaling{.alpha = alpha};
}

// max_position_embeddings is the original context of this rule.
std::int64_t dynamic_original(DictionaryReader& reader) {
  constexpr std::string_view original = "original_max_position_embeddings";
  reader.explain(original, "max_position_embeddings is the original context of this rule");
  if (reader.context().original_max_position_embeddings) {
    reader.warn(message(original,
                        " is ignored: max_position_embeddings is the original context "
                        "of rope_type dynamic"));
  }
  if (reader.context().max_position_embeddings) return *reader.context().max_position_embeddings;
  reader.fail(
      malformed_input("max_position_embeddings must be given for rope_type dynamic, got none"));
  return 0;
}

Scaling read_dynamic(DictionaryReader& reader) {
  if (reader.context().dialect == RopeDialect::hunyuan) {
    if (const auto alpha = reader.number("alpha"); alpha && *alpha != 0)
      return read_hunyuan(reader, *alpha);
  }
  reader.explain("alpha", "with it, dynamic means another rule in HunYuan's families alone");
  const DynamicNtkScaling rule{.factor = reader.required_number("factor"),
                               .original_context_tokens = dynamic_original(reader)};
  reader.warn_below_one(rule.factor);
  return rule;
}

// The fraction belongs to the rule and does not make rotary_dim smaller.
Scaling read_proportional(DictionaryReader& reader) {
  const auto inside = reader.number("partial_rotary_factor");
  ProportionalScaling rule{.turning_fraction =
                               reader.context().partial_rotary_factor.value_or(inside.value_or(1))};
  rule.factor = reader.number("factor").value_or(1);
  reader.warn_below_one(rule.factor);
  return rule;
}

// Reads parameters by their facts. A number that a rule with nothing set has as 0, and a list that
// it has empty, must be given.
struct ParameterReader {
  DictionaryReader& reader;

  void operator()(const ParameterFacts& facts, double& value) {
    value =
        value == 0 ? reader.required_number(facts.name) : reader.number(facts.name).value_or(value);
  }
  void operator()(const ParameterFacts& facts, std::int64_t& value) {
    value = reader.required_integer(facts.name);
  }
  void operator()(const ParameterFacts& facts, std::optional<double>& value) {
    value = reader.number(facts.name);
  }
  void operator()(const ParameterFacts& facts, std::vector<double>& list) {
    list = reader.required_numbers(facts.name);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(const ParameterFacts& facts, Enum& value) {
    const auto name = reader.text(facts.name);
    if (!name) return;
    for (const auto& each : Describe<Enum>::enumerators) {
      if (each.name == *name) {
        value = each.value;
        return;
      }
    }
    reader.fail(malformed_input(reader.from().path, facts.name, " must be ",
                                enumerator_names<Enum>(), ", got ", describe(*name)));
  }
};

constexpr std::array config_rope_types = {
    RopeType{"default", read_default},
    RopeType{"linear", read_linear},
    RopeType{"yarn", read_yarn},
    RopeType{"llama3", read_llama3},
    RopeType{"dynamic", read_dynamic},
    RopeType{"longrope", read_longrope},
    RopeType{"su", read_longrope},
    RopeType{"yarn", read_phi3_yarn, PartialRotaryFactor::sets_rotary_dim, RopeDialect::phi3},
    RopeType{"proportional", read_proportional, PartialRotaryFactor::is_of_the_rule}};

Error unknown_rope_type(const DictionaryReader& reader, std::span<const std::string_view> accepted,
                        std::string_view name) {
  return unsupported(reader.from().path, "rope_type must be one of ", join(accepted), "; got ",
                     describe(std::string(name)));
}

}  // namespace

Result<const RopeType*> find_rope_type(const DictionaryReader& reader, std::string_view name) {
  const RopeType* found = nullptr;
  std::vector<std::string_view> accepted;
  for (const RopeType& each : config_rope_types) {
    if (each.dialect && *each.dialect != reader.context().dialect) continue;
    if (each.name == name && (found == nullptr || each.dialect)) found = &each;
    if (!each.dialect) accepted.push_back(each.name);
  }
  if (found != nullptr) return found;
  return unknown_rope_type(reader, accepted, name);
}

Result<Scaling> read_spec_rule(DictionaryReader& reader, std::string_view name) {
  auto scaling = scaling_named(name);
  if (!scaling) return unknown_rope_type(reader, rope_types(), name);
  if (std::holds_alternative<YarnScaling>(*scaling)) return read_yarn(reader);
  for_each_parameter(*scaling, ParameterReader{reader});
  return *std::move(scaling);
}

}  // namespace rotary
