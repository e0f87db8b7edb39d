// SPDX-License-Identifier: Apache-2.0
#include "model/rope/scaling_readers.hpp"

#include <array>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "model/json/spelling.hpp"

namespace rotary {
namespace {

Scaling read_default(DictionaryReader&) { return NoScaling{}; }

Scaling read_ntk(DictionaryReader& reader) {
  return NtkScaling{.alpha = reader.required_number("alpha")};
}

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

// The original context: max_position_embeddings in a config, a key of its own in a spec.
std::int64_t dynamic_original(DictionaryReader& reader) {
  constexpr std::string_view original = "original_max_position_embeddings";
  if (reader.document() == Document::spec) return reader.required_integer(original);
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
  constexpr std::string_view fraction = "partial_rotary_factor";
  ProportionalScaling rule;
  if (reader.document() == Document::spec) {
    rule.turning_fraction = reader.required_number(fraction);
  } else {
    const auto inside = reader.number(fraction);
    rule.turning_fraction = reader.context().partial_rotary_factor.value_or(inside.value_or(1));
  }
  rule.factor = reader.number("factor").value_or(1);
  reader.warn_below_one(rule.factor);
  return rule;
}

Scaling read_mixed_ntk(DictionaryReader& reader) {
  return MixedNtkScaling{.factor = reader.required_number("factor"),
                         .mixed_b = reader.number("mixed_b")};
}

Scaling read_ntk_by_parts(DictionaryReader& reader) {
  return NtkByPartsScaling{
      .factor = reader.required_number("factor"),
      .original_context_tokens = reader.original_context(),
      .ntk_factor = reader.number("ntk_factor").value_or(1),
      .extrapolation_factor = reader.number("extrapolation_factor").value_or(1)};
}

Scaling read_clipped(DictionaryReader& reader) {
  ClippedScaling rule{.clipped_pairs = reader.required_integer("clipped_pairs")};
  const auto edge = reader.text("edge");
  if (edge == "hard") {
    rule.edge = ClippedEdge::hard;
  } else if (edge && *edge != "cosine") {
    reader.fail(
        malformed_input(reader.from().path, "edge must be cosine or hard, got ", describe(*edge)));
  }
  return rule;
}

Scaling read_retnet(DictionaryReader&) { return RetNetScaling{}; }

Scaling read_explicit(DictionaryReader& reader) {
  return ExplicitScaling{.inv_freq = reader.required_numbers("inv_freq"),
                         .attention_factor = reader.number("attention_factor").value_or(1)};
}

constexpr std::array rope_types = {
    RopeType{"default", read_default},
    RopeType{"linear", read_linear},
    RopeType{"ntk", read_ntk, UsedIn::specs},
    RopeType{"yarn", read_yarn},
    RopeType{"llama3", read_llama3},
    RopeType{"dynamic", read_dynamic},
    RopeType{"longrope", read_longrope},
    RopeType{"su", read_longrope, UsedIn::configs},
    RopeType{"yarn", read_phi3_yarn, UsedIn::configs, PartialRotaryFactor::sets_rotary_dim,
             RopeDialect::phi3},
    RopeType{"proportional", read_proportional, UsedIn::configs_and_specs,
             PartialRotaryFactor::is_of_the_rule},
    RopeType{"mixed_ntk", read_mixed_ntk, UsedIn::specs},
    RopeType{"ntk_by_parts", read_ntk_by_parts, UsedIn::specs},
    RopeType{"clipped", read_clipped, UsedIn::specs},
    RopeType{"retnet", read_retnet, UsedIn::specs},
    RopeType{"explicit", read_explicit, UsedIn::specs}};

bool accepts(const DictionaryReader& reader, const RopeType& rope_type) {
  if (rope_type.dialect && *rope_type.dialect != reader.context().dialect) return false;
  const auto other = reader.document() == Document::spec ? UsedIn::configs : UsedIn::specs;
  return rope_type.used_in != other;
}

}  // namespace

Result<const RopeType*> find_rope_type(const DictionaryReader& reader, std::string_view name) {
  const RopeType* found = nullptr;
  std::vector<std::string_view> accepted;
  for (const RopeType& each : rope_types) {
    if (!accepts(reader, each)) continue;
    if (each.name == name && (found == nullptr || each.dialect)) found = &each;
    if (!each.dialect) accepted.push_back(each.name);
  }
  if (found != nullptr) return found;
  return unsupported(reader.from().path, "rope_type must be one of ", join(accepted), "; got ",
                     describe(std::string(name)));
}

}  // namespace rotary
