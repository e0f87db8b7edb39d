// SPDX-License-Identifier: Apache-2.0
#include "cli/claims/claim.hpp"

#include <fmt/format.h>

namespace rotary::cli::claims {

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::holds:
      return "true";
    case Verdict::holds_only_if:
      return "true_only_if";
    case Verdict::fails:
      return "false";
    case Verdict::needs_training:
      return "needs_training";
  }
  return "unknown";
}

std::string_view to_string(Setting setting) noexcept {
  switch (setting) {
    case Setting::met:
      return "condition_met";
    case Setting::unmet:
      return "condition_unmet";
    case Setting::aside:
      return "aside";
  }
  return "unknown";
}

std::optional<Verdict> verdict_of(const std::vector<Evidence>& evidence) {
  int held = 0;
  int failed = 0;
  int against_condition = 0;  // held without it, or failed in spite of it
  for (const Evidence& each : evidence) {
    if (each.setting == Setting::aside) continue;
    ++(each.holds ? held : failed);
    if (each.holds != (each.setting == Setting::met)) ++against_condition;
  }
  if (held + failed == 0) return Verdict::needs_training;
  if (failed == 0) return Verdict::holds;
  if (held == 0) return Verdict::fails;
  if (against_condition == 0) return Verdict::holds_only_if;
  return std::nullopt;
}

Finding examine(const Claim& claim) {
  Finding finding{.claim = claim, .evidence = claim.examine(), .contradictions = {}};
  for (const Evidence& each : finding.evidence) {
    if (each.setting == Setting::aside && !each.holds) {
      finding.contradictions.push_back(fmt::format("{}: must hold and does not", each.relation));
    }
    for (const auto& [name, value, expected] : each.numbers) {
      if (expected.contains(value)) continue;
      finding.contradictions.push_back(fmt::format("{} must be in [{:.9g}, {:.9g}], got {:.9g}",
                                                   name, expected.least, expected.most, value));
    }
  }
  const std::optional<Verdict> verdict = verdict_of(finding.evidence);
  if (verdict != claim.verdict) {
    finding.contradictions.push_back(
        fmt::format("the verdict must be {}, got {}", to_string(claim.verdict),
                    verdict ? to_string(*verdict) : "evidence that does not follow the condition"));
  }
  return finding;
}

}  // namespace rotary::cli::claims
