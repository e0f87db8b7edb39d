// SPDX-License-Identifier: Apache-2.0
#include "cli/report/keys.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <variant>

#include "cli/explain/config_keys.hpp"
#include "cli/explain/key_meanings.hpp"
#include "cli/failure.hpp"
#include "cli/utf8.hpp"

namespace rotary::cli::page {
namespace {

using explain::ConfigKey;
using explain::KeyUse;

std::string_view use_text(KeyUse use) {
  switch (use) {
    case KeyUse::required:
      return "needed: nothing can be said without it";
    case KeyUse::used:
      return "without it the model is another one";
    case KeyUse::no_effect:
      return "the model is the same without it";
    case KeyUse::ignored:
      return "has no effect, and is warned about";
    case KeyUse::unread:
      return "not read";
  }
  return {};
}

std::string shortened(const std::string& value) {
  constexpr std::size_t most = 60;
  return value.size() <= most ? value : fmt::format("{}…", utf8_prefix(value, most));
}

KeyEffect effect_of(std::string change, const explain::Outcome& outcome) {
  KeyEffect effect{.change = std::move(change), .results = {}};
  if (const auto* const error = std::get_if<Error>(&outcome)) {
    effect.results.push_back("refused: " + error->message);
    return effect;
  }
  for (const auto& each : std::get<std::vector<explain::FactChange>>(outcome)) {
    effect.results.push_back(explain::change_text(each));
  }
  if (effect.results.empty()) effect.results.emplace_back("the same model");
  return effect;
}

KeyRow row_of(const ConfigKey& key) {
  KeyRow row{.path = key.path,
             .value = shortened(key.value),
             .meaning = std::string(explain::meaning_of(key.path)),
             .use = use_text(key.use)};
  if (key.use == KeyUse::required || key.use == KeyUse::used) {
    row.effects.push_back(effect_of("without it", key.without));
  }
  if (key.other) {
    row.effects.push_back(effect_of(fmt::format("with {}", key.other->value), key.other->outcome));
  }
  return row;
}

}  // namespace

std::vector<KeyRow> key_rows(std::string_view json, const ResolveOptions& options) {
  std::vector<KeyRow> rows;
  try {
    for (const ConfigKey& key : explain::keys_of_config({.json = json, .options = options})) {
      if (key.use != KeyUse::unread) rows.push_back(row_of(key));
    }
  } catch (const Failure& failure) {
    if (failure.exit_code() != ExitCode::usage) throw;
    rows.clear();
  }
  return rows;
}

}  // namespace rotary::cli::page
