// SPDX-License-Identifier: Apache-2.0
// The dictionary that describes scaling: in a config rope_scaling (older files) or rope_parameters
// (since Transformers 5), in a spec scaling.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config_json.hpp"
#include "rotary/scaling.hpp"

namespace rotary {

// What the rules need from outside the dictionary.
struct RopeContext {
  std::optional<std::int64_t> max_position_embeddings;
  std::optional<std::int64_t>
      original_max_position_embeddings;  // given beside the dictionary: it wins
};

struct RopeParameters {
  Scaling scaling = NoScaling{};
  std::optional<double> rope_theta;
  std::optional<double> partial_rotary_factor;
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
