// SPDX-License-Identifier: Apache-2.0
// The target of a dialect's rule: one rotary embedding of a model at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "model/json/json.hpp"
#include "rotary/dialect.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

// Keys of rope dictionaries that resolve() refuses, because Transformers does not read them.
struct EngineKeys {
  std::optional<double> attn_factor = {};           // of YaRN
  std::optional<double> extrapolation_factor = {};  // of YaRN
  std::optional<double> alpha = {};                 // of dynamic NTK

  friend bool operator==(const EngineKeys&, const EngineKeys&) = default;
};

// Keys of a config that ModelSpec does not have; absent, too, where there is no config.
struct StatedKeys {
  std::optional<double> partial_rotary_factor = {};
  std::optional<std::int64_t> hidden_size = {};
  std::optional<std::int64_t> heads = {};
  std::optional<std::int64_t> rotary_dim = {};
  bool factor_is_null = false;              // of the rope dictionary
  std::optional<double> theta_beside = {};  // rope_theta outside of it
  std::optional<double> theta_within = {};
  bool has_parameters = false;               // rope_parameters is there, and not empty
  bool has_scaling = false;                  // rope_scaling is
  std::optional<bool> has_scaling_key = {};  // it may be null or empty
  // original_max_position_embeddings is in the rope dictionary; beside it.
  std::optional<bool> original_inside = {};
  std::optional<bool> original_beside = {};
  EngineKeys engine_keys = {};
};

// The object of a config that has the model's keys, before it is resolved.
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

// The rule of the embedding, if it is of this type.
template <class Rule>
[[nodiscard]] Rule* rule_of(RuleTarget& target) {
  return std::get_if<Rule>(&target.rotary.spec.scaling);
}

// Sets a member, and notes whether that changed it.
template <class Value, class New>
void set(RuleTarget& target, Value& member, const New& value) {
  if (member == value) return;
  member = value;
  target.acted = true;
}

// Rules that several engines have.
namespace dialects {

// model_types: "llama qwen2".
[[nodiscard]] bool is_of(const RuleTarget& target, std::string_view model_types);
[[nodiscard]] bool is_of(const ConfigEdit& config, std::string_view model_types);
// Nothing is scaled.
void drop_scaling(RuleTarget& target);
// The dictionary that a configuration class has where the config has none is not known.
void drop_default_scaling(RuleTarget& target);
// YaRN's ramp ends at whole pairs, whatever the config says.
void round_yarn_ramp(RuleTarget& target);
// A is 0.1 ln(factor) + 1, whatever attention_factor, mscale and mscale_all_dim say.
void compute_yarn_attention_factor(RuleTarget& target);
// A follows from mscale, 1 where the config has none, and mscale_all_dim, 0 there; each acts
// without the other.
void compute_yarn_factor_of_mscales(RuleTarget& target);
// LongRoPE's factor is max_position_embeddings / original_max_position_embeddings.
void take_longrope_factor_of_lengths(RuleTarget& target);
// The same, and A follows from it alone, but for lists with an A of their own.
void compute_longrope_attention_factor(RuleTarget& target);
// The list is chosen once, for the longest context.
void choose_longrope_list_once(RuleTarget& target);
// Dynamic NTK scaling is not there.
void drop_dynamic(RuleTarget& target);
// partial_rotary_factor is read for models whose own class does not.
void read_partial_rotary_factor(RuleTarget& target);
// rotary_dim is read for models whose class of Transformers does not.
void read_rotary_dim(RuleTarget& target);
// Removes them from the config.
[[nodiscard]] EngineKeys take_engine_keys(Json& config);
// They change nothing.
void ignore_engine_keys(RuleTarget& target);
// attn_factor multiplies the computed A.
void multiply_by_attn_factor(RuleTarget& target);
// extrapolation_factor multiplies the weight of the frequencies that are not divided.
void mix_by_extrapolation_factor(RuleTarget& target);
// alpha enlarges the base.
void read_alpha(RuleTarget& target);

}  // namespace dialects

// An engine's releases, both inclusive (0.0: all), and how what they do is known.
struct Seen {
  Engine engine;
  Evidence kind;
  EngineVersion first = {};
  EngineVersion last = {};
};

// change: DialectRule::apply or DialectRule::edit.
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
