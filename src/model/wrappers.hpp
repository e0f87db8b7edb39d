// SPDX-License-Identifier: Apache-2.0
// Models of images or sound around a language model, whose config contains the language model's.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/class_sizes.hpp"
#include "model/json/reader.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

struct Wrapper {
  std::string_view model_type;
  std::string_view text_model_type;  // if the inner config has none
  std::string_view vision = {};      // family of vision_config if that names none; empty: unknown
  std::string_view key = "text_config";  // key of the inner config
  std::string_view authors_key = {};     // in the authors' own files
};

[[nodiscard]] std::span<const Wrapper> wrappers();

// The config of a language model, of a tower, or of what is around them.
struct PartConfig {
  Reader reader;
  std::string model_type;             // as in the config; empty if it has none
  std::string family;                 // as model_type, except for a wrapper in its flat form
  Origin origin = Origin::stated;     // of model_type; family: the wrapper around it says so
  const ClassSizes* sizes = nullptr;  // of the class of a config within another
};

// A config by itself; assumed_type: if it says none. Diffusers' name for it is _class_name.
[[nodiscard]] PartConfig part_config(Reader config, std::string_view assumed_type);

// The config of the language model last: the config itself, or the one inside its wrappers, which
// are before it, the outermost first. A wrapper with a language model of its own kind may be flat,
// as in older files. At least one; after an error the last is not the language model's.
[[nodiscard]] std::vector<PartConfig> nested_configs(const Reader& config);

}  // namespace rotary
