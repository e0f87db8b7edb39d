// SPDX-License-Identifier: Apache-2.0
// `rotary table` for a config, a model card, rope or xpos: cos and sin.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/json.hpp"
#include "cli/model_options.hpp"
#include "cli/shared_options.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli {

enum class Form {
  half_width,  // cos and sin [tokens, rotary_dim/2]: one number for each pair
  hf,          // [tokens, rotary_dim]: one for each feature, as Transformers builds them
  complex,     // cos + i sin [tokens, rotary_dim/2]
};

using NamedForm = std::pair<std::string_view, Form>;
inline constexpr std::array<NamedForm, 3> forms = {
    {{"half-width", Form::half_width}, {"hf", Form::hf}, {"complex", Form::complex}}};

struct TableArguments {
  ModelOptions model;  // model.config may also be the name of an encoding
  SinusoidalOptions sinusoidal;
  BiasOptions bias;  // its name and settings are in `model`
  std::optional<PositionList> positions, distances;
  std::optional<std::int64_t> dim, left, right;
  NamedForm form = forms.front();
  std::optional<std::string> layer_type;
  std::optional<Role> role;
  std::optional<DType> dtype;
  OutputOption output;

  [[nodiscard]] const std::string& name() const noexcept { return model.config; }
};

// Writes --out if given. Returns the text for standard output.
[[nodiscard]] std::string table_of_model(const TableArguments& arguments, OutputForm form);

}  // namespace rotary::cli
