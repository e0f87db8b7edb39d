// SPDX-License-Identifier: Apache-2.0
// `rotary table` of a config, a model card, or rotary embedding by its numbers: its cos and sin.
#pragma once

#include <optional>
#include <string>

#include "cli/json.hpp"
#include "cli/model_options.hpp"
#include "cli/shared_options.hpp"

namespace rotary::cli {

struct TableArguments {
  ModelOptions model;  // its config is the name of an encoding where that is no config's
  SinusoidalOptions sinusoidal;
  BiasOptions bias;  // without name and settings, which are those of model
  std::optional<std::string> positions, distances, dim, left, right;
  std::optional<std::string> form, layer_type, role, dtype;
  OutputOption output;

  [[nodiscard]] const std::string& name() const noexcept { return model.config; }
};

// Writes --out, when it is given; what goes to standard output.
[[nodiscard]] std::string table_of_model(const TableArguments& arguments, OutputForm form);

}  // namespace rotary::cli
