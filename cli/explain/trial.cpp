// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/trial.hpp"

#include <algorithm>
#include <utility>

#include "apps/failure.hpp"

namespace rotary::cli::explain {

void check_limit(std::string_view subject, const Limit& limit, std::size_t got,
                 std::string_view or_more) {
  if (got <= limit.most) return;
  fail_usage("{} to explain must have at most {} {}, got {}{}", subject, limit.most, limit.what,
             got, or_more);
}

Baseline::Baseline(std::string_view subject, const ModelSpec& model,
                   std::optional<std::int64_t> context_tokens)
    : context_tokens_(context_tokens), warnings_(model.warnings) {
  std::size_t pairs = 0;
  for (const ModelRotary& rotary : model.rotary) {
    const RotarySpec& spec = rotary.spec;
    const std::int64_t turning = spec.rotary_dim.value_or(spec.head_dim - spec.first_feature);
    pairs += static_cast<std::size_t>(turning / 2);
  }
  check_limit(subject, {.most = 2048, .what = "pairs of features that turn, over its layer types"},
              pairs);
  facts_ = facts_of(model, context_tokens);
}

Trial Baseline::compare(const Result<ModelSpec>& changed) const {
  if (!changed) return {.outcome = changed.error()};
  Trial trial{.outcome = changes(facts_, facts_of(*changed, context_tokens_)),
              .warns_equally = changed->warnings == warnings_};
  for (const std::string& warning : warnings_)
    if (std::ranges::find(changed->warnings, warning) == changed->warnings.end())
      trial.lost_warnings.push_back(warning);
  return trial;
}

ConfigKey judged_key(std::string path, Json value, const Trial& without) {
  ConfigKey key{.path = std::move(path),
                .value = std::move(value),
                .use = KeyUse::required,
                .warnings = without.lost_warnings,
                .without = without.outcome};
  if (!without.outcome) return key;
  key.use = !without.is_same()     ? KeyUse::used
            : key.warnings.empty() ? KeyUse::no_effect
                                   : KeyUse::ignored;
  return key;
}

bool shows_other_value(const ConfigKey& key) noexcept {
  return key.use == KeyUse::required || key.use == KeyUse::no_effect;
}

}  // namespace rotary::cli::explain
