// SPDX-License-Identifier: Apache-2.0
#include "cli/hidden_size.hpp"

#include <string>
#include <utility>

#include "apps/json.hpp"

namespace rotary::cli {
namespace {

constexpr std::int64_t most = 65536;

// The value of --set or --key, else of the config.
SortedJson value_at(const SortedJson& config, const std::string& outer, const std::string& key,
                    const ResolveOptions& options) {
  SortedJson value = config.is_object() && config.contains(key) ? config[key] : SortedJson();
  for (const ConfigOverride& change : options.overrides) {
    if (change.key != outer + key) continue;
    value = change.from.empty() ? parse_json(change.value)
                                : config.value(change.from.substr(outer.size()), SortedJson());
  }
  return value;
}

// The language model's config and its path.
std::pair<SortedJson, std::string> language_model(std::string_view config_json) {
  std::pair<SortedJson, std::string> found(parsed_config(config_json), "");
  auto& [config, outer] = found;
  for (const char* const key :
       {"vlm_config", "thinker_config", "text_config", "llm_config", "language_config"}) {
    if (!config.is_object() || !config.contains(key) || !config[key].is_object()) continue;
    config = SortedJson(config[key]);
    outer += std::string(key) + ".";
  }
  return found;
}

}  // namespace

std::vector<std::int64_t> head_counts_of(std::string_view config_json,
                                         const ResolveOptions& options) {
  const auto [config, outer] = language_model(config_json);
  std::vector<std::int64_t> counts;
  for (const char* const key : {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                "num_key_value_heads", "n_head_kv", "n_kv_heads"}) {
    const SortedJson value = value_at(config, outer, key, options);
    if (value.is_number_integer()) counts.push_back(value.get<std::int64_t>());
  }
  return counts;
}

std::optional<std::int64_t> hidden_size_of(std::string_view config_json,
                                           const ResolveOptions& options) {
  const auto [config, outer] = language_model(config_json);
  for (const char* const key : {"hidden_size", "n_embd", "d_model", "dim", "model_dim"}) {
    const SortedJson value = value_at(config, outer, key, options);
    if (!value.is_number_integer()) continue;
    const auto size = value.get<std::int64_t>();
    if (size >= 2 && size <= most && size % 2 == 0) return size;
  }
  return std::nullopt;
}

}  // namespace rotary::cli
