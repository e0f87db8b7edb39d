// SPDX-License-Identifier: Apache-2.0
#include "cli/report/keys.hpp"

#include "cli/failure.hpp"

namespace rotary::cli::page {

std::vector<KeyRow> key_rows(std::string_view json, const ResolveOptions& options) {
  std::vector<KeyRow> rows;
  try {
    for (const auto& key : explain::keys_of_config(json, options)) {
      if (key.use == explain::KeyUse::unread) continue;
      rows.push_back({.path = key.path,
                      .value = explain::value_text(key.value, 60, "…"),
                      .meaning = explain::meaning_of(key.path),
                      .use = explain::words_of(key.use).sentence,
                      .effects = explain::effects_of(key)});
    }
  } catch (const Failure& failure) {
    if (failure.exit_code() != ExitCode::usage) throw;
    rows.clear();
  }
  return rows;
}

}  // namespace rotary::cli::page
