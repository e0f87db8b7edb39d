// SPDX-License-Identifier: Apache-2.0
// Models of images or sound whose config contains that of a language model.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/families/class_sizes.hpp"
#include "model/json/reader.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

struct Wrapper {
  std::string_view model_type;
  std::string_view text_model_type;      // if the inner config states none
  std::string_view vision = {};          // family of vision_config if it names none; empty: unknown
  std::string_view key = "text_config";  // key of the inner config
  std::string_view authors_key = {};     // key of the inner config in the authors' own files
};

[[nodiscard]] std::span<const Wrapper> wrappers();

// The config of a language model, of a tower, or of the model around them.
struct PartConfig {
  Reader reader;
  std::string model_type;             // as in the config; empty if it has none
  std::string family;                 // as model_type; for a wrapper in flat form, the inner one
  Origin origin = Origin::stated;     // of model_type; family: from the wrapper's row
  const ClassSizes* sizes = nullptr;  // of the class, for a config within another
};

// A config and its model_type (Diffusers: _class_name), or assumed_type if it states none.
[[nodiscard]] PartConfig part_config(Reader config, std::string_view assumed_type);

// The config and the configs nested in it, the outermost first. The last is the language model's,
// except after an error. A wrapper in the flat form of older files adds no level. Never empty.
[[nodiscard]] std::vector<PartConfig> nested_configs(const Reader& config);

}  // namespace rotary
