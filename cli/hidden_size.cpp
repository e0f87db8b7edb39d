// SPDX-License-Identifier: Apache-2.0
#include "cli/hidden_size.hpp"

#include <array>
#include <string>

#include "cli/json.hpp"

namespace rotary::cli {
namespace {

constexpr std::array wrappers = {"text_config", "llm_config", "language_config", "thinker_config"};
constexpr std::array size_keys = {"hidden_size", "n_embd", "d_model", "dim", "model_dim"};
constexpr std::int64_t most = 65536;

// --set wins over the config.
Json value_at(const Json& config, const std::string& path, const ResolveOptions& options) {
  const std::string key = path.substr(path.rfind('.') + 1);  // npos + 1 is 0
  Json value = config.is_object() && config.contains(key) ? config[key] : Json();
  for (const ConfigOverride& change : options.overrides) {
    if (change.key == path) value = Json::parse(change.value, nullptr, /*allow_exceptions=*/false);
  }
  return value;
}

}  // namespace

std::optional<std::int64_t> hidden_size_of(std::string_view config_json,
                                           const ResolveOptions& options) {
  Json config = Json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  std::string path;
  for (std::size_t i = 0; i < wrappers.size() && config.is_object();) {
    if (!config.contains(wrappers[i]) || !config[wrappers[i]].is_object()) {
      ++i;
      continue;
    }
    config = Json(config[wrappers[i]]);
    path += std::string(wrappers[i]) + ".";
    i = 0;  // one may be within another
  }
  for (const char* const key : size_keys) {
    const Json value = value_at(config, path + key, options);
    if (!value.is_number_integer()) continue;
    const auto size = value.get<std::int64_t>();
    if (size >= 2 && size <= most && size % 2 == 0) return size;
  }
  return std::nullopt;
}

}  // namespace rotary::cli
