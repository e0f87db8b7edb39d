// SPDX-License-Identifier: Apache-2.0
// A claim about positions, and the evidence computed to judge it. `rotary claims` fails if a
// verdict is not as expected or a number is outside its range.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rotary::cli::claims {

enum class Verdict {
  holds,           // in every setting that was computed
  holds_only_if,   // in settings that meet its condition, and in no other
  fails,           // in every setting
  needs_training,  // only an experiment of rotary-lab decides
};

// "true", "true_only_if", "false", "needs_training".
[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

// Whether evidence meets the claim's condition.
enum class Setting {
  met,    // the condition is met, or the claim has none
  unmet,  // the condition is not met
  aside,  // decides nothing: background, or the cost of meeting the condition
};

// A closed range.
struct Range {
  double least;
  double most;

  // False for NaN.
  [[nodiscard]] bool contains(double value) const noexcept {
    return least <= value && value <= most;
  }
};

[[nodiscard]] constexpr Range exactly(double value) noexcept { return {value, value}; }
[[nodiscard]] constexpr Range about(double value, double tolerance) noexcept {
  return {value - tolerance, value + tolerance};
}

// True if every case satisfies the relation. In Setting::unmet, a single case that satisfies it is
// enough, because the claim expects none.
template <class Cases, class Relation>
[[nodiscard]] bool holds_for(Setting setting, const Cases& cases, Relation relation) {
  return setting == Setting::unmet ? std::ranges::any_of(cases, relation)
                                   : std::ranges::all_of(cases, relation);
}

struct Number {
  std::string name;
  double value;
  Range expected;  // derived or published, plus or minus rounding or the random error
};

struct Evidence {
  std::string computed;  // what was computed, with sizes and seed
  std::string relation;  // the relation that the claim states; aside: a remark on the numbers
  Setting setting;
  bool holds;
  std::vector<Number> numbers;
};

template <Setting setting>
[[nodiscard]] Evidence evidence(std::string computed, std::string relation, bool holds,
                                std::vector<Number> numbers) {
  return {std::move(computed), std::move(relation), setting, holds, std::move(numbers)};
}
inline constexpr auto as_claimed = evidence<Setting::met>;
inline constexpr auto beyond = evidence<Setting::unmet>;
inline constexpr auto aside = evidence<Setting::aside>;

template <class Relation>
[[nodiscard]] Evidence judged(Setting setting, std::string computed, std::string relation,
                              std::vector<Number> numbers, Relation is_in_relation) {
  const bool holds = holds_for(setting, numbers, is_in_relation);
  return {std::move(computed), std::move(relation), setting, holds, std::move(numbers)};
}

// A measured number from the literature, which this command does not compute.
struct Published {
  std::string_view what;
  std::string_view source;
};

using Publications = std::vector<Published>;
using Experiments = std::vector<std::string_view>;

struct Claim {
  int number;                  // from 1
  std::string_view name;       // short, for the command line
  std::string_view statement;  // as people say it
  Verdict verdict;             // expected
  std::string_view condition;  // the condition, why the claim fails, or who decides it
  std::vector<Evidence> (*examine)();
  Publications published = {};
  Experiments experiments = {};  // names of the rotary-lab experiments that test it
};

// Empty if the evidence contradicts the condition.
[[nodiscard]] std::optional<Verdict> verdict_of(const std::vector<Evidence>& evidence);

struct Finding {
  Claim claim;
  std::vector<Evidence> evidence;
  std::vector<std::string> contradictions;  // requirement and value; empty if as expected
};

[[nodiscard]] Finding examine(const Claim& claim);

[[nodiscard]] std::vector<Claim> encoding_claims();
[[nodiscard]] std::vector<Claim> rotary_claims();
[[nodiscard]] std::vector<Claim> similarity_claims();
[[nodiscard]] std::vector<Claim> frequency_claims();
[[nodiscard]] std::vector<Claim> model_claims();
[[nodiscard]] std::vector<Claim> sentence_claims();

// Claim n has index n - 1.
[[nodiscard]] std::span<const Claim> all_claims();

[[nodiscard]] std::string overview_text(std::span<const Finding> findings);
[[nodiscard]] std::string evidence_text(std::span<const Finding> findings);

// In the form of docs/schema/claims.schema.json.
[[nodiscard]] std::string findings_json(std::span<const Finding> findings);

// Throws Failure with all contradictions, if there are any.
void check(std::span<const Finding> findings);

}  // namespace rotary::cli::claims
