// SPDX-License-Identifier: Apache-2.0
// What `rotary table` shows: the rows of a model's rotary embedding, of a sinusoidal encoding, or
// what a relative encoding makes of distances. Each writes --out, when it is given, and returns
// what goes to standard output.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/bias_input.hpp"
#include "cli/files.hpp"
#include "cli/model_options.hpp"
#include "cli/output_form.hpp"
#include "cli/sinusoidal_input.hpp"

namespace rotary::cli {

struct TableArguments {
  ModelOptions model;  // its config is the name of an encoding where that is no config's
  SinusoidalOptions sinusoidal;
  BiasOptions bias;  // without name and settings, which are those of model
  std::optional<std::string> positions, distances, dim, left, right;
  std::optional<std::string> form, layer_type, role, dtype, out;
  bool force = false;

  [[nodiscard]] const std::string& name() const noexcept { return model.config; }
  [[nodiscard]] Overwrite overwrite() const noexcept {
    return force ? Overwrite::allow : Overwrite::refuse;
  }
};

// Of a config, a model card, or one of these two names.
[[nodiscard]] std::string table_of_model(const TableArguments& arguments, OutputForm form);
[[nodiscard]] std::string table_of_sinusoidal(const TableArguments& arguments, OutputForm form);
// [heads, distances].
[[nodiscard]] std::string table_of_bias(const TableArguments& arguments, OutputForm form);
// The row of Shaw's window for each distance.
[[nodiscard]] std::string table_of_window(const TableArguments& arguments, OutputForm form);

}  // namespace rotary::cli
