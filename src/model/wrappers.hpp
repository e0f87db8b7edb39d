// SPDX-License-Identifier: Apache-2.0
// Models of images or sound whose config contains a language model's config.
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
  std::string_view authors_key = {};     // key of the inner config in the authors' own files
};

[[nodiscard]] std::span<const Wrapper> wrappers();

// The config of a language model, of a tower, or of the model around them.
struct PartConfig {
  Reader reader;
  std::string model_type;             // as in the config; empty if it has none
  std::string family;                 // as model_type, except for a wrapper in its flat form
  Origin origin = Origin::stated;     // of model_type; family: the wrapper around it says so
  const ClassSizes* sizes = nullptr;  // of the class of a config within another
};

// A config and its model_type (in Diffusers' files: _class_name); assumed_type if the config states
// none.
[[nodiscard]] PartConfig part_config(Reader config, std::string_view assumed_type);

// The config and those nested in it, the outermost first; the last is the language model's. Just
// one if the config is a language model's itself. A wrapper may also be flat, as in older files, if
// it has a language model of its own kind. Never empty; after an error the last is not the language
// model's.
[[nodiscard]] std::vector<PartConfig> nested_configs(const Reader& config);

}  // namespace rotary
