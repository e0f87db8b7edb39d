// SPDX-License-Identifier: Apache-2.0
// The dictionary that describes scaling: in a config rope_scaling (older files) or rope_parameters
// (since Transformers 5), in a spec scaling.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/json/config_json.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

// Families whose own code reads the dictionary otherwise than modeling_rope_utils.py does.
enum class RopeDialect {
  transformers,  // no difference
  hunyuan,       // "dynamic" with alpha is NTK-aware scaling with that alpha
  phi3,  // "yarn" with short_factor and long_factor is LongRoPE with YaRN's attention factor
};

// What the rules need from outside the dictionary. The second and third, given beside it, win.
struct RopeContext {
  std::optional<std::int64_t> max_position_embeddings = {};
  std::optional<std::int64_t> original_max_position_embeddings = {};
  std::optional<double> partial_rotary_factor = {};
  RopeDialect dialect = RopeDialect::transformers;
};

// What partial_rotary_factor says: how much of the head the rule is applied to, or something
// within a rule that is applied to all of it.
enum class PartialRotaryFactor { sets_rotary_dim, is_of_the_rule };

struct RopeParameters {
  Scaling scaling = NoScaling{};
  std::optional<double> rope_theta;
  std::optional<double> partial_rotary_factor;
  PartialRotaryFactor partial_rotary_factor_says = PartialRotaryFactor::sets_rotary_dim;
  std::vector<std::string> warnings;
};

// Of a config. Errors: unsupported for a rope_type or key that is not understood, malformed_input
// for a missing or mistyped value. Values are checked against the rule when frequencies are made.
[[nodiscard]] Result<RopeParameters> read_rope_parameters(const ConfigObject& from,
                                                          const RopeContext& context);

// The scaling of a spec (rotary/spec_json.hpp): rope_type, which must be given, and the keys of its
// rule. Errors as above, but malformed_input for a key that is not understood.
[[nodiscard]] Result<Scaling> read_spec_scaling(const ConfigObject& from);

}  // namespace rotary
