// SPDX-License-Identifier: Apache-2.0
// The dictionary of a config that describes scaling: rope_scaling in older files, rope_parameters
// since Transformers 5.
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

// Errors: unsupported for a rope_type or key that is not understood, malformed_input for a missing
// or mistyped value. Values are checked against the rule when frequencies are made.
[[nodiscard]] Result<RopeParameters> read_rope_parameters(const ConfigObject& from,
                                                          const RopeContext& context);

}  // namespace rotary
