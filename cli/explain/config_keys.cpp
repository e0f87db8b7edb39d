// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "cli/explain/explain_config.hpp"
#include "cli/failure.hpp"

namespace rotary::cli::explain {
namespace {

using Path = std::vector<std::string>;
using Names = std::span<const std::string>;

constexpr std::size_t most_bytes = std::size_t{1} << 18;
constexpr std::size_t most_keys = 500;
constexpr std::size_t most_pairs = 2048;  // of all layer types: each trial makes their frequencies

Json& member_of(Json& config, const Path& path) {
  Json* place = &config;
  for (const std::string& part : path) place = &(*place)[part];
  return *place;
}

// As resolve() applies it, which has accepted it.
void set_key(Json& config, const ConfigOverride& change) {
  Path path;
  std::string_view rest = change.key;
  for (auto dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    path.emplace_back(rest.substr(0, dot));
    rest.remove_prefix(dot + 1);
  }
  path.emplace_back(rest);
  Json value = Json::parse(change.value, nullptr, /*allow_exceptions=*/false);
  member_of(config, path) = value.is_discarded() ? Json(change.value) : std::move(value);
}

struct Trial {
  Outcome outcome;
  std::vector<std::string> warnings;

  [[nodiscard]] bool is_same() const {
    const auto* const changed = std::get_if<std::vector<FactChange>>(&outcome);
    return changed != nullptr && changed->empty();
  }
};

void check_most(std::size_t most, std::string_view what, std::size_t got,
                std::string_view or_more = {}) {
  if (got <= most) return;
  throw Failure(ExitCode::usage,
                fmt::format("a config to explain must have at most {} {}, got {}{}", most, what,
                            got, or_more));
}

void check_pairs(const ModelSpec& model) {
  std::size_t pairs = 0;
  for (const ModelRotary& rotary : model.rotary) {
    const RotarySpec& spec = rotary.spec;
    const std::int64_t turning = spec.rotary_dim.value_or(spec.head_dim - spec.first_feature);
    pairs += static_cast<std::size_t>(turning / 2);
  }
  check_most(most_pairs, "pairs of features that turn, over its layer types", pairs);
}

class Experiment {
 public:
  Experiment(Json config, ResolveOptions options)
      : config_(std::move(config)), options_(std::move(options)) {
    options_.overrides.clear();  // they are in the config
    const ModelSpec model = value_or_fail(resolve(config_.dump(), options_));
    check_pairs(model);
    facts_ = facts_of(model, options_.context_tokens);
    warnings_ = model.warnings;
  }

  [[nodiscard]] const Json& config() const { return config_; }

  [[nodiscard]] Trial without(const Path& object, Names names) const {
    return changed(object, [&](Json& parent) {
      for (const std::string& name : names) parent.erase(name);
    });
  }

  // The members with values of another type, that no reader expects.
  [[nodiscard]] Trial with_another_type(const Path& object, Names names) const {
    return changed(object, [&](Json& parent) {
      for (const std::string& name : names) {
        Json& value = parent[name];
        value = value.is_object() ? Json(7) : Json::object({{"no such key", 7}});
      }
    });
  }

  [[nodiscard]] Trial with(const Path& path, const Json& value) const {
    return changed(path, [&](Json& place) { place = value; });
  }

  // Those that the config has and the trial has not.
  [[nodiscard]] std::vector<std::string> lost_warnings(const Trial& trial) const {
    std::vector<std::string> lost;
    for (const std::string& warning : warnings_) {
      if (std::ranges::find(trial.warnings, warning) == trial.warnings.end()) {
        lost.push_back(warning);
      }
    }
    return lost;
  }

  // Whether anything reads one of the members: with values of another type something else happens.
  [[nodiscard]] bool are_read(const Path& object, Names names) const {
    const Trial trial = with_another_type(object, names);
    return !trial.is_same() || trial.warnings != warnings_;
  }

 private:
  // The model of the config after a change at the place.
  template <class Change>
  [[nodiscard]] Trial changed(const Path& path, Change change) const {
    Json config = config_;
    change(member_of(config, path));
    const Result<ModelSpec> model = resolve(config.dump(), options_);
    if (!model) return {.outcome = model.error(), .warnings = {}};
    return {.outcome = changes(facts_, facts_of(*model, options_.context_tokens)),
            .warnings = model->warnings};
  }

  Json config_;
  ResolveOptions options_;
  std::vector<Fact> facts_;
  std::vector<std::string> warnings_;
};

// Adds the members that nothing reads, and whose absence nobody notices. Most members of a config
// are such, so all are tried at once, and halves where that changes something.
void add_unread(const Experiment& experiment, const Path& object, Names names,
                std::set<std::string>& unread) {
  if (names.empty()) return;
  const Trial without = experiment.without(object, names);
  if (without.is_same() && experiment.lost_warnings(without).empty() &&
      !experiment.are_read(object, names)) {
    unread.insert(names.begin(), names.end());
    return;
  }
  if (names.size() == 1) return;
  add_unread(experiment, object, names.first(names.size() / 2), unread);
  add_unread(experiment, object, names.subspan(names.size() / 2), unread);
}

std::optional<Json> another_value(const Json& value) {
  if (value.is_boolean()) return Json(!value.get<bool>());
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (number <= -(std::int64_t{1} << 52) || number >= std::int64_t{1} << 52) return {};
    return Json(number == 0 ? 1 : 2 * number);
  }
  if (value.is_number()) return Json(value.get<double>() == 0 ? 1 : 2 * value.get<double>());
  return {};
}

// Requires a key that is read.
KeyUse use_of(const Trial& without, const std::vector<std::string>& lost_warnings) {
  if (std::holds_alternative<Error>(without.outcome)) return KeyUse::required;
  if (!without.is_same()) return KeyUse::used;
  return lost_warnings.empty() ? KeyUse::no_effect : KeyUse::ignored;
}

ConfigKey key_at(const Experiment& experiment, const Path& path, const Json& value) {
  Trial without =
      experiment.without(Path(path.begin(), path.end() - 1), std::span(&path.back(), 1));
  std::vector<std::string> warnings;
  if (!std::holds_alternative<Error>(without.outcome)) {
    warnings = experiment.lost_warnings(without);
  }
  const KeyUse use = use_of(without, warnings);
  ConfigKey key{.path = fmt::format("{}", fmt::join(path, ".")),
                .value = value,
                .use = use,
                .warnings = std::move(warnings),
                .without = std::move(without.outcome)};
  if (use != KeyUse::required && use != KeyUse::no_effect) return key;
  if (const std::optional<Json> other = another_value(value)) {
    key.other = {.value = *other, .outcome = experiment.with(path, *other).outcome};
  }
  return key;
}

// The members of an object, unless nothing reads the object itself.
void visit(const Experiment& experiment, Path& path, const Json& object,
           std::vector<ConfigKey>& keys) {
  // Each member is one key at least.
  check_most(most_keys, "keys", keys.size() + object.size(), " or more");
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  std::set<std::string> unread;
  add_unread(experiment, path, names, unread);
  for (const auto& [name, value] : object.items()) {
    path.push_back(name);
    if (unread.contains(name)) {
      keys.push_back(
          {.path = fmt::format("{}", fmt::join(path, ".")), .value = value, .use = KeyUse::unread});
    } else if (value.is_object() && !value.empty()) {
      visit(experiment, path, value, keys);
    } else {
      keys.push_back(key_at(experiment, path, value));
    }
    path.pop_back();
  }
}

}  // namespace

std::vector<ConfigKey> keys_of_config(const ConfigText& config) {
  check_most(most_bytes, "bytes", config.json.size());
  Json json = Json::parse(config.json);
  for (const ConfigOverride& change : config.options.overrides) set_key(json, change);
  const Experiment experiment(std::move(json), config.options);
  std::vector<ConfigKey> keys;
  Path path;
  visit(experiment, path, experiment.config(), keys);
  return keys;
}

}  // namespace rotary::cli::explain
