// SPDX-License-Identifier: Apache-2.0
#include "model/rope/scaling_readers.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/spelling.hpp"

namespace rotary {
namespace {

Scaling read_default(RopeReader&) { return NoScaling{}; }

Scaling read_linear(RopeReader& reader) {
  const double factor = reader.required_number("factor");
  reader.warn_below_one(factor);
  return LinearScaling{.factor = factor};
}

Scaling read_llama3(RopeReader& reader) {
  const Llama3Scaling rule{.factor = reader.required_number("factor"),
                           .low_freq_factor = reader.required_number("low_freq_factor"),
                           .high_freq_factor = reader.required_number("high_freq_factor"),
                           .original_context_tokens = reader.original_context()};
  const auto trained = reader.context().max_position_embeddings;
  if (trained && rule.original_context_tokens >= *trained) {
    reader.warn("original_max_position_embeddings, ", rule.original_context_tokens,
                ", is not below max_position_embeddings, ", *trained);
  }
  reader.warn_below_one(rule.factor);
  return rule;
}

// HunYuan's "dynamic" with alpha has a fixed base, and the other keys in its files have no effect.
Scaling read_hunyuan(RopeReader& reader, double alpha) {
  std::vector<std::string_view> ignored;
  for (const std::string_view key :
       {"factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"}) {
    if (reader.number(key)) ignored.push_back(key);
  }
  if (!ignored.empty()) {
    reader.warn("alpha makes the base a fixed one; ", join(ignored),
                " beside it do nothing, as in Transformers");
  }
  return NtkScaling{.alpha = alpha};
}

std::int64_t dynamic_original(RopeReader& reader) {
  constexpr std::string_view original = "original_max_position_embeddings";
  reader.explain(original, "max_position_embeddings is the original context of this rule");
  if (reader.context().original_max_position_embeddings) {
    reader.findings().warn(
        original,
        " is ignored: max_position_embeddings is the original context of rope_type dynamic");
  }
  if (reader.context().max_position_embeddings) return *reader.context().max_position_embeddings;
  reader.findings().fail(
      malformed_input("max_position_embeddings must be given for rope_type dynamic, got none"));
  return 0;
}

Scaling read_dynamic(RopeReader& reader) {
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

// The proportional rule, whose partial_rotary_factor does not change rotary_dim.
Scaling read_proportional(RopeReader& reader) {
  const double beside = reader.context().partial_rotary_factor.value_or(1);
  ProportionalScaling rule{.turning_fraction =
                               reader.number("partial_rotary_factor").value_or(beside)};
  rule.factor = reader.number("factor").value_or(1);
  reader.warn_below_one(rule.factor);
  return rule;
}

// Reads the parameters of a spec. A parameter whose default is 0 or empty must be given.
struct ParameterReader {
  RopeReader& reader;

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
    value = read_enumerator(reader, facts.name, value);
  }
};

struct RopeType {
  std::string_view name;  // rope_type() of the rule or another name
  Scaling (*read)(RopeReader&);
  PartialRotaryFactor partial_rotary_factor = PartialRotaryFactor::sets_rotary_dim;
  std::optional<RopeDialect> dialect = {};  // only in this dialect
};

// The rope types of configs. Some rules have several names.
constexpr std::array config_rope_types = {
    RopeType{"default", read_default},
    RopeType{"linear", read_linear},
    RopeType{"yarn", read_yarn},
    RopeType{"llama3", read_llama3},
    RopeType{"dynamic", read_dynamic},
    RopeType{"longrope", read_longrope},
    RopeType{"su", read_longrope},
    RopeType{"yarn", read_phi3_yarn, PartialRotaryFactor::sets_rotary_dim, RopeDialect::phi3},
    RopeType{"deepseek_yarn", read_yarn, PartialRotaryFactor::sets_rotary_dim, RopeDialect::sarvam},
    RopeType{"proportional", read_proportional, PartialRotaryFactor::is_of_the_rule}};

void fail_unknown_rope_type(RopeReader& reader, std::span<const std::string_view> accepted,
                            const std::string& name) {
  const bool is_old = reader.find("rope_type") == nullptr && reader.find("type") != nullptr;
  reader.not_supported(is_old ? "type" : "rope_type", " must be one of ", join(accepted), "; got ",
                       describe(name), did_you_mean(name, accepted));
}

// Null, with an error, if no rule has this name.
const RopeType* find_rope_type(RopeReader& reader, const std::string& name) {
  const RopeType* found = nullptr;
  std::vector<std::string_view> accepted;
  for (const RopeType& each : config_rope_types) {
    if (each.dialect && *each.dialect != reader.context().dialect) continue;
    if (each.name == name && (found == nullptr || each.dialect)) found = &each;
    if (!each.dialect) accepted.push_back(each.name);
  }
  if (found == nullptr) fail_unknown_rope_type(reader, accepted, name);
  return found;
}

// rope_type, or type in files from before Transformers 4.43.
std::string read_rope_type(RopeReader& reader) {
  const auto name = reader.text("rope_type");
  const auto old_name = reader.text("type");
  if (name && old_name && *name != *old_name) {
    reader.malformed("rope_type and type must agree, got '", *name, "' and '", *old_name, "'");
  }
  return name ? *name : old_name.value_or("default");
}

// Adds an error for a key that the rule has not read. This error replaces an earlier one, which may
// be about a missing key that the unknown key misspells.
void refuse_other_keys(const RopeReader& reader, std::string_view rope_type) {
  const bool is_named = reader.find("rope_type") != nullptr || reader.find("type") != nullptr;
  const bool is_config = reader.document() == Document::config;
  auto error = reader.error_about_others(
      is_config ? ErrorCode::unsupported : ErrorCode::malformed_input,
      message(" is not a key of rope_type '", rope_type,
              is_named ? "'" : "' (assumed, because rope_type is absent)", ", which accepts "));
  if (error) reader.findings().error = std::move(error);
}

}  // namespace

std::int64_t RopeReader::original_context() {
  constexpr std::string_view key = "original_max_position_embeddings";
  const auto inside = integer(key);
  const auto beside = context_.original_max_position_embeddings;
  if (inside && beside && *inside != *beside) {
    findings().warn(key, " is ", *inside, " among the rope parameters and ", *beside,
                    " in the config or its class; the latter is used, as Transformers does");
  }
  if (const auto original = beside ? beside : inside) return *original;
  if (!context_.max_position_embeddings) {
    malformed(key, " must be given, got none",
              document_ == Document::config ? " (and no max_position_embeddings)" : "");
    return 0;
  }
  warn(key, " is absent; max_position_embeddings, ", *context_.max_position_embeddings,
       ", is used, as Transformers does");
  return *context_.max_position_embeddings;
}

void RopeReader::warn_below_one(double factor) {
  if (factor > 0 && factor < 1) {
    warn("factor is below 1, which shortens the context; got ", factor);
  }
}

RopeParameters read_rope_parameters(const Reader& dictionary, const RopeContext& context) {
  RopeReader reader(dictionary, Document::config, context);
  const std::string name = read_rope_type(reader);
  const RopeType* const rope_type = find_rope_type(reader, name);
  RopeParameters parameters;
  if (reader.failed()) return parameters;
  parameters.rope_theta = reader.number("rope_theta");
  parameters.partial_rotary_factor = reader.number("partial_rotary_factor");
  parameters.partial_rotary_factor_says = rope_type->partial_rotary_factor;
  parameters.scaling = rope_type->read(reader);
  const bool is_phi3 = context.dialect == RopeDialect::phi3;
  const bool is_longrope = std::holds_alternative<LongRopeScaling>(parameters.scaling);
  if (name != "default" && (!context.scales || (is_phi3 && !is_longrope))) {
    reader.not_supported("rope_type must be ", is_phi3 ? "default or longrope" : "default",
                         ", because the class has no other; got ", describe(name));
  }
  refuse_other_keys(reader, name);
  return parameters;
}

Scaling read_spec_scaling(const Reader& dictionary) {
  RopeReader reader(dictionary, Document::spec, {});
  const auto name = reader.text("rope_type");
  if (!name) reader.malformed("rope_type must be given, got none");
  if (reader.failed()) return NoScaling{};
  auto found = scaling_named(*name);
  if (!found) {
    fail_unknown_rope_type(reader, rope_types(), *name);
    return NoScaling{};
  }
  // A spec may state YaRN with the keys of configs, too.
  Scaling scaling = *std::move(found);
  if (std::holds_alternative<YarnScaling>(scaling)) {
    scaling = read_yarn(reader);
  } else {
    for_each_parameter(scaling, ParameterReader{reader});
  }
  reader.explain("partial_rotary_factor", "a spec says rotary_dim, beside scaling");
  refuse_other_keys(reader, *name);
  return scaling;
}

}  // namespace rotary
