// SPDX-License-Identifier: Apache-2.0
#include "cli/claims/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace rotary::cli::claims {

std::string_view to_string(Verdict verdict) noexcept {
  static constexpr std::string_view names[] = {"true", "true_only_if", "false", "needs_training"};
  return names[static_cast<std::size_t>(verdict)];
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

std::span<const Claim> all_claims() {
  static const std::vector<Claim> all = [] {
    std::vector<Claim> claims;
    for (const auto of_topic : {encoding_claims, rotary_claims, similarity_claims, frequency_claims,
                                curve_claims, model_claims}) {
      for (const Claim& claim : of_topic()) claims.push_back(claim);
    }
    std::ranges::sort(claims, {}, &Claim::number);
    return claims;
  }();
  return all;
}

}  // namespace rotary::cli::claims
