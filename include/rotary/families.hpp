// SPDX-License-Identifier: Apache-2.0
// The model families that resolve() knows, and what each assumes beyond its config.
//
//   for (const FamilyInfo& family : *known_families()) use(family.model_type);
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "rotary/export.h"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary {

// The texts live as long as the program.
struct FamilyInfo {
  std::string_view model_type;     // as in a config
  LayerEncoding encoding;          // for its attention layers, unless the config chooses another
  std::optional<Pairing> pairing;  // for a rotary family
  std::optional<double> base;      // when the config gives none; absent: the config must
  // For a model whose config contains the config of a language model: the family of the inner
  // config if that names none.
  std::string_view text_model_type;
  std::string_view note;  // what is unusual
  // Folder in transformers/models, or file of Diffusers; empty: the code comes with the model.
  std::string_view source;
};

// Sorted by model_type.
[[nodiscard]] ROTARY_API Result<std::vector<FamilyInfo>> known_families() noexcept;

}  // namespace rotary
