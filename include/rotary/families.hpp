// SPDX-License-Identifier: Apache-2.0
// The model families that resolve() knows: what each assumes and its config does not say.
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
  LayerEncoding encoding;          // of its attention layers, unless the config chooses another
  std::optional<Pairing> pairing;  // of a rotary family
  std::optional<double> base;      // when the config gives none; absent: the config must
  // Given for a model whose language model has a config within its own: the family of that one,
  // when it does not say.
  std::string_view text_model_type;
  std::string_view note;    // what is unusual
  std::string_view source;  // folder in transformers/models; empty: its code comes with the model
};

// In the order of model_type.
[[nodiscard]] ROTARY_API Result<std::vector<FamilyInfo>> known_families() noexcept;

}  // namespace rotary
