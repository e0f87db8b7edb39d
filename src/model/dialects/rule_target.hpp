// SPDX-License-Identifier: Apache-2.0
// The targets of dialect rules, and changes that several rules make to them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "model/json/json.hpp"
#include "rotary/dialect.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Keys of rope dictionaries that Transformers does not read; resolve() refuses them.
struct EngineKeys {
  std::optional<double> attn_factor = {};           // of YaRN
  std::optional<double> extrapolation_factor = {};  // of YaRN
  std::optional<double> alpha = {};                 // of dynamic NTK

  friend bool operator==(const EngineKeys&, const EngineKeys&) = default;
};

// Facts about a config that ModelSpec lacks. Without a config, all are absent or false.
struct StatedKeys {
  std::optional<double> partial_rotary_factor = {};
  std::optional<std::int64_t> hidden_size = {};
  std::optional<std::int64_t> heads = {};
  std::optional<std::int64_t> rotary_dim = {};
  bool factor_is_null = false;              // the factor in the rope dictionary
  std::optional<double> theta_beside = {};  // rope_theta outside the rope dictionary
  std::optional<double> theta_within = {};
  bool has_parameters = false;               // present and not empty
  bool has_scaling = false;                  // present and not empty
  std::optional<bool> has_scaling_key = {};  // present, even if null or empty
  // Whether original_max_position_embeddings is inside the rope dictionary, and whether beside it.
  std::optional<bool> original_inside = {};
  std::optional<bool> original_beside = {};
  EngineKeys engine_keys = {};
};

// The config's object with the model's keys, for rules that change it before it is resolved.
struct ConfigEdit {
  Json::Object& keys;
  std::string_view model_type;
  EngineVersion version = {};
};

struct RuleTarget {
  ModelSpec& model;
  ModelRotary& rotary;
  const StatedKeys& stated;
  LengthPolicy& lengths;
  std::optional<std::string>& refusal;
  EngineVersion version = {};  // 0.0: any
  bool acted = false;
};

template <class Rule>
[[nodiscard]] Rule* rule_of(RuleTarget& target) {
  return std::get_if<Rule>(&target.rotary.spec.scaling);
}

// Sets a member and records whether that changed it.
template <class Value, class New>
void set(RuleTarget& target, Value& member, const New& value) {
  if (member == value) return;
  member = value;
  target.acted = true;
}

inline void refuse(RuleTarget& target, std::string reason) {
  target.refusal = std::move(reason);
  target.acted = true;
}

// Functions that rules of several engines share.
namespace dialects {

// Whether the target's family is in a list such as "llama qwen2".
[[nodiscard]] bool is_of(const RuleTarget& target, std::string_view model_types);
[[nodiscard]] bool is_of(const ConfigEdit& config, std::string_view model_types);
void drop_scaling(RuleTarget& target);
// Removes the dictionary that a configuration class supplies to configs without one.
void drop_default_scaling(RuleTarget& target);
void round_yarn_ramp(RuleTarget& target);
// Sets A to 0.1 ln(factor) + 1, whatever attention_factor, mscale and mscale_all_dim say.
void compute_yarn_attention_factor(RuleTarget& target);
// Computes A from mscale (default 1) and mscale_all_dim (default 0), even if only one is given.
void compute_yarn_factor_of_mscales(RuleTarget& target);
// Sets LongRoPE's factor to max_position_embeddings / original_max_position_embeddings.
void take_longrope_factor_of_lengths(RuleTarget& target);
// Calls take_longrope_factor_of_lengths(), then computes A from the factor. If A was YaRN's, YaRN's
// rule computes it.
void compute_longrope_attention_factor(RuleTarget& target);
void choose_longrope_list_once(RuleTarget& target);
void drop_dynamic(RuleTarget& target);
// Applies partial_rotary_factor to models whose own class does not read it.
void read_partial_rotary_factor(RuleTarget& target);
// Applies rotary_dim to models whose class in Transformers does not read it.
void read_rotary_dim(RuleTarget& target);
// Takes the keys of EngineKeys out of the config.
[[nodiscard]] EngineKeys take_engine_keys(Json& config);
// Marks the rule as acted if the config has keys of EngineKeys, which the engine ignores.
void ignore_engine_keys(RuleTarget& target);
void multiply_by_attn_factor(RuleTarget& target);
// Multiplies the weight of the unscaled frequencies by extrapolation_factor.
void mix_by_extrapolation_factor(RuleTarget& target);
void read_alpha(RuleTarget& target);

}  // namespace dialects

// An engine, the evidence for a rule, and the first and last releases with the rule (0.0: all).
struct Seen {
  Engine engine;
  Evidence kind;
  EngineVersion first = {};
  EngineVersion last = {};
};

// Makes a rule. change: a function for DialectRule::apply or DialectRule::edit.
template <class Change>
[[nodiscard]] constexpr DialectRule rule(const Seen& seen, std::string_view name,
                                         std::string_view sentence, std::string_view source,
                                         Change change) {
  DialectRule made{name, sentence, source, seen.kind, seen.engine, seen.first, seen.last};
  if constexpr (std::is_same_v<Change, bool (*)(ConfigEdit&)>)
    made.edit = change;
  else
    made.apply = change;
  return made;
}

[[nodiscard]] std::span<const DialectRule> transformers_rules();
[[nodiscard]] std::span<const DialectRule> llama_cpp_rules();
[[nodiscard]] std::span<const DialectRule> vllm_rules();
[[nodiscard]] std::span<const DialectRule> mlx_rules();
[[nodiscard]] std::span<const DialectRule> onnxruntime_rules();
[[nodiscard]] std::span<const DialectRule> sglang_rules();

}  // namespace rotary
