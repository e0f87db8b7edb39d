// SPDX-License-Identifier: Apache-2.0
// Settings for more tokens than a model was trained on: rules, effects, flags of engines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/json.hpp"
#include "cli/model_input.hpp"
#include "cli/model_options.hpp"

namespace rotary::cli {

// The effect of a candidate on one rotary embedding of the model.
struct StretchedRotary {
  std::optional<std::string> layer_type;  // absent: all layers
  std::size_t pairs = 0;
  std::size_t changed_pairs = 0;
  double largest_angle_change = 0;  // between neighbours, radians
  double score_factor = 1;          // scores beside those without this candidate
};

struct StretchedEngine {
  std::string_view engine;
  std::string flags;   // empty: none say it, or the config does
  std::string remark;  // a difference of the engine; empty: it computes this candidate
};

struct StretchCandidate {
  std::string_view rule;                    // "yarn", "ntk", ...
  std::string_view fine_tuning;             // what it needs
  std::string published;                    // whose cards publish it; empty: nobody's
  Json settings;                            // members to set in config.json
  std::optional<std::string> refusal = {};  // why the config cannot have it
  std::vector<StretchedRotary> rotary = {};
  std::vector<StretchedEngine> engines = {};
};

struct Stretch {
  std::int64_t tokens = 0;
  std::int64_t trained_tokens = 0;                // with the rule that the model has
  std::string remark = {};                        // why there is no candidate, or one alone
  std::vector<std::string> warnings = {};         // of the config
  std::vector<StretchCandidate> candidates = {};  // the likeliest first
};

// Usage failure for a GGUF file, or a model that states no trained context.
[[nodiscard]] Stretch stretch_model(const ModelOptions& options, std::int64_t tokens);

}  // namespace rotary::cli
