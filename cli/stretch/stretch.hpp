// SPDX-License-Identifier: Apache-2.0
// Settings for more tokens than a model was trained on: rules, effects, and engines' flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/json.hpp"
#include "cli/model_input.hpp"
#include "cli/model_options.hpp"

namespace rotary::cli {

// The effect of a candidate on one rotary embedding of the model.
struct StretchedRotary {
  std::optional<std::string> layer_type;  // empty for all layers
  std::size_t pairs = 0;
  std::size_t changed_pairs = 0;
  double largest_angle_change = 0;  // between neighbours, radians
  double score_factor = 1;          // relative to scores without this candidate
};

struct StretchedEngine {
  std::string_view engine;
  std::string flags;   // empty if no flags exist, or if the config needs none
  std::string remark;  // how the engine deviates, or that this is not known; empty otherwise
};

struct StretchCandidate {
  std::string_view rule;                    // "yarn", "ntk", ...
  std::string_view fine_tuning;             // which fine-tuning it needs
  std::string published = {};               // the model cards that publish it; empty: none
  Json settings;                            // members to set in config.json
  std::optional<std::string> refusal = {};  // why the config refuses it
  std::vector<StretchedRotary> rotary = {};
  std::vector<StretchedEngine> engines = {};
};

struct Stretch {
  std::int64_t tokens = 0;
  std::int64_t trained_tokens = 0;                // with the model's own rule
  std::string remark = {};                        // why there is no candidate, or only one
  std::vector<std::string> warnings = {};         // from the config
  std::vector<StretchCandidate> candidates = {};  // the most likely first
};

// Fails as wrong usage for a GGUF file, or if the model states no trained context.
[[nodiscard]] Stretch stretch_model(const ModelOptions& options, std::int64_t tokens);

}  // namespace rotary::cli
