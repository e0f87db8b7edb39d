// SPDX-License-Identifier: Apache-2.0
// The dictionary that describes scaling: rope_scaling (older files) or rope_parameters (since
// Transformers 5) of a config, scaling of a spec.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/json/config_json.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

// Families whose own code reads the dictionary differently from modeling_rope_utils.py.
enum class RopeDialect {
  transformers,  // no difference
  hunyuan,       // "dynamic" with alpha is NTK-aware scaling with that alpha
  phi3,  // "yarn" with short_factor and long_factor is LongRoPE with YaRN's attention factor
};

// The values outside the dictionary that rules need. The second and third override those inside it.
struct RopeContext {
  std::optional<std::int64_t> max_position_embeddings = {};
  std::optional<std::int64_t> original_max_position_embeddings = {};
  std::optional<double> partial_rotary_factor = {};
  RopeDialect dialect = RopeDialect::transformers;
};

// Meaning of partial_rotary_factor: the part of the head that the rule applies to, or a parameter
// of a rule that applies to all of it.
enum class PartialRotaryFactor { sets_rotary_dim, is_of_the_rule };

struct RopeParameters {
  Scaling scaling = NoScaling{};
  std::optional<double> rope_theta;
  std::optional<double> partial_rotary_factor;
  PartialRotaryFactor partial_rotary_factor_says = PartialRotaryFactor::sets_rotary_dim;
  std::vector<std::string> warnings;
};

// Reads the dictionary of a config. Errors: unsupported for an unknown rope_type or key,
// malformed_input for a missing or mistyped value. Making frequencies checks values against the
// rule.
[[nodiscard]] Result<RopeParameters> read_rope_parameters(const ConfigObject& from,
                                                          const RopeContext& context);

// Reads the scaling of a spec (rotary/spec_json.hpp): rope_type, which must be given, and its
// rule's keys. Errors as above, but malformed_input for an unknown key.
[[nodiscard]] Result<Scaling> read_spec_scaling(const ConfigObject& from);

}  // namespace rotary
