// SPDX-License-Identifier: Apache-2.0
// Each verdict follows from its evidence, and an unexpected verdict makes the command fail.
// test_claims.py tests the verdict and the numbers of each claim.
#include "cli/claims/claims.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/failure.hpp"

namespace rotary::cli {
namespace {

using claims::Evidence;
using claims::Setting;
using claims::Verdict;

enum class Relation { holds, fails };

Evidence evidence_of(Setting setting, Relation relation) {
  return {.computed = "something",
          .relation = "as it should be",
          .setting = setting,
          .holds = relation == Relation::holds,
          .numbers = {}};
}

TEST(Claims, TheVerdictFollowsFromTheEvidence) {
  using enum Setting;
  using enum Relation;
  const auto verdict = [](const std::vector<std::pair<Setting, Relation>>& all) {
    std::vector<Evidence> evidence;
    for (const auto& [setting, relation] : all) evidence.push_back(evidence_of(setting, relation));
    return claims::verdict_of(evidence);
  };
  EXPECT_EQ(verdict({{met, holds}}), Verdict::holds);
  EXPECT_EQ(verdict({{met, holds}, {unmet, holds}}), Verdict::holds);
  EXPECT_EQ(verdict({{met, fails}}), Verdict::fails);
  EXPECT_EQ(verdict({{met, fails}, {unmet, fails}, {aside, holds}}), Verdict::fails);
  EXPECT_EQ(verdict({{met, holds}, {unmet, fails}}), Verdict::holds_only_if);
  EXPECT_EQ(verdict({{met, holds}, {met, holds}, {unmet, fails}}), Verdict::holds_only_if);
  EXPECT_EQ(verdict({{aside, holds}}), Verdict::needs_training);
  EXPECT_EQ(verdict({}), Verdict::needs_training);
  // No verdict: the claim holds in some cases, and its condition does not tell which.
  EXPECT_EQ(verdict({{met, fails}, {unmet, holds}}), std::nullopt);
  EXPECT_EQ(verdict({{met, holds}, {met, fails}, {unmet, fails}}), std::nullopt);
  EXPECT_EQ(verdict({{met, holds}, {unmet, fails}, {unmet, holds}}), std::nullopt);
}

TEST(Claims, HoldsForAllMetCasesOrForOneUnmetCase) {
  const auto even = [](int number) { return number % 2 == 0; };
  EXPECT_TRUE(claims::holds_for(Setting::met, std::array{2, 4}, even));
  EXPECT_FALSE(claims::holds_for(Setting::met, std::array{2, 3}, even));
  EXPECT_TRUE(claims::holds_for(Setting::unmet, std::array{2, 3}, even));
  EXPECT_FALSE(claims::holds_for(Setting::unmet, std::array{1, 3}, even));
}

std::vector<Evidence> two_of_three() {
  std::vector<Evidence> evidence = {evidence_of(Setting::met, Relation::holds),
                                    evidence_of(Setting::unmet, Relation::fails)};
  evidence[0].numbers = {{"least", 2, {2, 3}}, {"most", 3, {2, 3}}};
  return evidence;
}

claims::Claim sound_claim() {
  return {.number = 7,
          .name = "sound",
          .statement = "it is so",
          .verdict = Verdict::holds_only_if,
          .condition = "it is",
          .examine = two_of_three};
}

// Returns the message of the failure that the claim causes, or "" without a failure.
std::string failure_of(const claims::Claim& claim) {
  try {
    claims::check(std::array{claims::examine(claim)});
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::check_failed);
    return failure.what();
  }
  return {};
}

TEST(Claims, ExpectedEvidencePasses) { EXPECT_EQ(failure_of(sound_claim()), ""); }

TEST(Claims, AnUnexpectedVerdictFails) {
  claims::Claim claim = sound_claim();
  claim.verdict = Verdict::holds;
  EXPECT_EQ(failure_of(claim),
            "claim 7 (sound) is contradicted: the verdict must be true, got true_only_if");
  claim.verdict = Verdict::holds_only_if;
  claim.examine = [] {
    return std::vector{evidence_of(Setting::met, Relation::fails),
                       evidence_of(Setting::unmet, Relation::holds)};
  };
  EXPECT_EQ(failure_of(claim),
            "claim 7 (sound) is contradicted: the verdict must be true_only_if, got evidence that "
            "does not follow the condition");
}

TEST(Claims, AnUnexpectedNumberFails) {
  claims::Claim claim = sound_claim();
  claim.examine = [] {
    std::vector<Evidence> evidence = two_of_three();
    evidence[0].numbers[1].value = 3.5;
    return evidence;
  };
  EXPECT_EQ(failure_of(claim), "claim 7 (sound) is contradicted: most must be in [2, 3], got 3.5");
  claim.examine = [] {
    std::vector<Evidence> evidence = two_of_three();
    evidence[0].numbers[0].value = std::numeric_limits<double>::quiet_NaN();
    evidence.push_back(evidence_of(Setting::aside, Relation::fails));
    return evidence;
  };
  EXPECT_EQ(failure_of(claim),
            "claim 7 (sound) is contradicted: least must be in [2, 3], got nan; claim 7 (sound) is "
            "contradicted: as it should be: must hold and does not");
}

}  // namespace
}  // namespace rotary::cli
