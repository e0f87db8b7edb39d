// SPDX-License-Identifier: Apache-2.0
// The effect of each GGUF key on positions, found as for configs.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include "apps/failure.hpp"
#include "cli/explain/trial.hpp"

namespace rotary::cli::explain {
namespace {

constexpr std::string_view a_gguf_file = "a GGUF file";

Json json_of(const GgufValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

// Doubles a number (0 becomes 1) and negates a boolean. Other values stay.
GgufValue another(const GgufValue& value) {
  if (const auto* const truth = std::get_if<bool>(&value)) return !*truth;
  if (const auto* const number = std::get_if<double>(&value)) return *number == 0 ? 1 : 2 * *number;
  const auto* const whole = std::get_if<std::int64_t>(&value);
  const bool fits = whole != nullptr && std::abs(*whole) < std::int64_t{1} << 52;
  if (fits) return *whole == 0 ? std::int64_t{1} : 2 * *whole;
  return value;
}

std::size_t bytes_of(const GgufKey& key) {
  const std::size_t of_value = std::visit(
      [](const auto& held) -> std::size_t {
        if constexpr (requires { held.size(); }) {
          return held.size() * sizeof(held[0]);
        } else {
          return sizeof(held);
        }
      },
      key.value);
  return key.name.size() + of_value;
}

}  // namespace

std::vector<ConfigKey> keys_of_gguf(const GgufMetadata& metadata, const GgufOptions& options) {
  check_limit(a_gguf_file, most_keys, metadata.keys.size());
  std::size_t bytes = 0;
  for (const GgufKey& key : metadata.keys) bytes += bytes_of(key);
  check_limit(a_gguf_file, {.most = most_bytes.most, .what = "bytes of keys"}, bytes);
  const Baseline baseline(a_gguf_file, value_or_fail(resolve_gguf(metadata, options)),
                          options.context_tokens);
  std::vector<ConfigKey> keys;
  for (std::size_t i = 0; i < metadata.keys.size(); ++i) {
    const GgufValue& value = metadata.keys[i].value;
    if (std::holds_alternative<std::monostate>(value)) continue;
    GgufMetadata changed = metadata;
    changed.keys.erase(changed.keys.begin() + static_cast<std::ptrdiff_t>(i));
    ConfigKey& key = keys.emplace_back(judged_key(
        metadata.keys[i].name, json_of(value), baseline.compare(resolve_gguf(changed, options))));
    if (!shows_other_value(key)) continue;
    changed = metadata;
    changed.keys[i].value = another(value);
    Trial with_other = baseline.compare(resolve_gguf(changed, options));
    if (key.use == KeyUse::no_effect && with_other.is_same())
      key.use = KeyUse::unread;
    else if (changed.keys[i].value != value)
      key.other = {.value = json_of(changed.keys[i].value),
                   .outcome = std::move(with_other.outcome)};
  }
  return keys;
}

}  // namespace rotary::cli::explain
