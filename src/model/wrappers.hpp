// SPDX-License-Identifier: Apache-2.0
// Models of images or sound around a language model, whose config has the language model's within.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/json/config_json.hpp"
#include "rotary/result.hpp"

namespace rotary {

struct Wrapper {
  std::string_view model_type;
  std::string_view text_model_type;      // when the inner config has none
  std::string_view key = "text_config";  // where it is
};

[[nodiscard]] std::span<const Wrapper> wrappers();

struct LanguageConfig {
  ConfigObject object;
  std::string model_type;  // as the config has it; empty when it has none
  std::string family;      // the same, but for a wrapper in its flat form
};

// The config of the language model: the config itself, or what the wrappers around it hold. A
// wrapper with a language model of its own kind may be flat, as older files are.
[[nodiscard]] Result<LanguageConfig> find_language_config(const ConfigObject& config,
                                                          std::vector<std::string>& warnings);

}  // namespace rotary
