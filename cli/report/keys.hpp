// SPDX-License-Identifier: Apache-2.0
// What each key of a config does to positions, found by leaving it out and by changing it
// (cli/explain/explain_config.hpp), as rows of a table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/explain/explain_config.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli::page {

using explain::KeyEffect;

struct KeyRow {
  std::string path;
  std::string value;    // JSON text, shortened where it is long
  std::string meaning;  // "" for a key that is not known
  std::string_view use;
  std::vector<KeyEffect> effects;
};

// Of a config that resolves; those that nothing reads are left out. None for a config of so many
// keys that trying them all would take long.
[[nodiscard]] std::vector<KeyRow> key_rows(std::string_view json, const ResolveOptions& options);

}  // namespace rotary::cli::page
