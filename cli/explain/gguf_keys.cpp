// SPDX-License-Identifier: Apache-2.0
// The effect of each key of a GGUF file on positions, found as for configs.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>

#include "apps/failure.hpp"
#include "cli/explain/explain_config.hpp"
#include "cli/explain/limits.hpp"

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

// A number doubled, a boolean negated, else the same value.
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

void check_size(const GgufMetadata& metadata) {
  check_limit(a_gguf_file, most_keys, metadata.keys.size());
  std::size_t bytes = 0;
  for (const GgufKey& key : metadata.keys) bytes += bytes_of(key);
  check_limit(a_gguf_file, {.most = most_bytes.most, .what = "bytes of keys"}, bytes);
}

class GgufExperiment {
 public:
  GgufExperiment(const GgufMetadata& metadata, const GgufOptions& options)
      : metadata_(metadata), options_(options) {
    const ModelSpec model = value_or_fail(resolve_gguf(metadata, options));
    check_pairs(a_gguf_file, model);
    facts_ = facts_of(model, options.context_tokens);
    warnings_ = model.warnings;
  }

  [[nodiscard]] ConfigKey tried(std::size_t index) const {
    GgufMetadata changed = metadata_;
    changed.keys.erase(changed.keys.begin() + static_cast<std::ptrdiff_t>(index));
    const GgufKey& key = metadata_.keys[index];
    std::vector<std::string> lost;
    ConfigKey found{.path = key.name,
                    .value = json_of(key.value),
                    .use = KeyUse::required,
                    .without = outcome_of(changed, &lost)};
    const GgufValue other = another(key.value);
    changed = metadata_;
    changed.keys[index].value = other;
    Outcome with_other = outcome_of(changed, nullptr);
    const bool is_same = found.without && found.without->empty();
    const bool other_is_same = with_other && with_other->empty();
    found.warnings = std::move(lost);
    if (found.without) {
      found.use = !is_same                  ? KeyUse::used
                  : !found.warnings.empty() ? KeyUse::ignored
                  : other_is_same           ? KeyUse::unread
                                            : KeyUse::no_effect;
    }
    const bool shows_other = found.use == KeyUse::required || found.use == KeyUse::no_effect;
    if (shows_other && other != key.value)
      found.other = {.value = json_of(other), .outcome = std::move(with_other)};
    return found;
  }

 private:
  // lost: receives the file's warnings that the changed metadata does not give.
  [[nodiscard]] Outcome outcome_of(const GgufMetadata& metadata,
                                   std::vector<std::string>* lost) const {
    const auto model = resolve_gguf(metadata, options_);
    if (!model) return model.error();
    for (const std::string& warning : warnings_) {
      const bool is_there = std::ranges::find(model->warnings, warning) != model->warnings.end();
      if (lost != nullptr && !is_there) lost->push_back(warning);
    }
    return changes(facts_, facts_of(*model, options_.context_tokens));
  }

  const GgufMetadata& metadata_;
  GgufOptions options_;
  std::vector<Fact> facts_;
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<ConfigKey> keys_of_gguf(const GgufMetadata& metadata, const GgufOptions& options) {
  check_size(metadata);
  const GgufExperiment experiment(metadata, options);
  std::vector<ConfigKey> keys;
  for (std::size_t i = 0; i < metadata.keys.size(); ++i) {
    const GgufKey& key = metadata.keys[i];
    if (std::holds_alternative<std::monostate>(key.value)) continue;
    keys.push_back(experiment.tried(i));
  }
  return keys;
}

}  // namespace rotary::cli::explain
