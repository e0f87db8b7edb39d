// SPDX-License-Identifier: Apache-2.0
// Which of the usual checks finds which mistake: most pass all of them, which is why rows must be
// compared with numbers that somebody else made.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/explain/mistakes.hpp"
#include "cli/explain/topics.hpp"

namespace rotary::cli::explain {
namespace {

constexpr std::array<std::int64_t, 3> moves = {0, 300, 5000};

struct Finding {
  std::string_view name;
  std::string what;
  Vector result;              // of the query
  double largest_difference;  // from what is right
  double result_norm;
  std::vector<double> scores;  // at the same distance, by moves
  double score_further;        // with the key one position further away
  bool norm_kept;              // the norm that is right
  bool same_distance_same_score;
  bool distance_seen;
};

struct Findings {
  Finding right;
  std::vector<Finding> mistakes;
};

Finding finding_of(const Numbers& numbers, const Mistake& mistake, const Vector& right) {
  const auto score = [&](std::int64_t query_position, std::int64_t key_position) {
    return dot(mistake.map(numbers.query, query_position, Role::query),
               mistake.map(numbers.key, key_position, Role::key));
  };
  Finding finding{.name = mistake.name,
                  .what = mistake.what,
                  .result = mistake.map(numbers.query, numbers.query_position, Role::query),
                  .largest_difference = 0,
                  .result_norm = 0,
                  .scores = {},
                  .score_further = score(numbers.query_position, numbers.key_position - 1),
                  .norm_kept = false,
                  .same_distance_same_score = true,
                  .distance_seen = false};
  for (const std::int64_t shift : moves) {
    finding.scores.push_back(score(numbers.query_position + shift, numbers.key_position + shift));
  }
  const double factor = std::max(1.0, numbers.attention_factor());
  const double bound = rounding_bound(numbers.query.size()) * factor * norm(numbers.query);
  const double score_bound = bound * factor * norm(numbers.key);
  for (const double each : finding.scores) {
    finding.same_distance_same_score &= std::abs(each - finding.scores.front()) <= score_bound;
  }
  finding.largest_difference = largest_difference(finding.result, right);
  finding.result_norm = norm(finding.result);
  finding.norm_kept = std::abs(finding.result_norm - norm(right)) <= bound;
  finding.distance_seen = std::abs(finding.score_further - finding.scores.front()) > score_bound;
  return finding;
}

Findings findings_of(const Numbers& numbers) {
  const Mistake none{.name = "none",
                     .what = "as it should be",
                     .map = [&](const Vector& head, std::int64_t position, Role) {
                       return numbers.turned(head, position);
                     }};
  const Vector right = numbers.turned(numbers.query, numbers.query_position);
  Findings findings{.right = finding_of(numbers, none, right), .mistakes = {}};
  for (const Mistake& mistake : usual_mistakes(numbers)) {
    findings.mistakes.push_back(finding_of(numbers, mistake, right));
  }
  return findings;
}

std::string line_of(const Finding& finding) {
  const auto word = [](bool holds) { return holds ? "yes" : "NO"; };
  return fmt::format("  {:<46}  {:>10}  {:>4}  {:>13}  {:>8}\n", finding.what,
                     fmt::format("{:.4g}", finding.largest_difference), word(finding.norm_kept),
                     word(finding.same_distance_same_score), word(finding.distance_seen));
}

std::string text_of(const Numbers& numbers, const Findings& findings) {
  std::string text = query_text(numbers) + key_text(numbers) + spec_text(numbers);
  text += fmt::format("\n  {:<46}  {:>10}  {:>4}  {:>13}  {:>8}\n", "", "q' is off", "norm",
                      "same distance", "distance");
  text += fmt::format("  {:<46}  {:>10}  {:>4}  {:>13}  {:>8}\n", "mistake", "by up to", "kept",
                      "same score", "seen");
  text += line_of(findings.right);
  for (const Finding& finding : findings.mistakes) text += line_of(finding);
  std::int64_t unseen = 0;
  for (const Finding& finding : findings.mistakes) {
    unseen +=
        finding.norm_kept && finding.same_distance_same_score && finding.distance_seen ? 1 : 0;
  }
  return text + fmt::format(
                    "\n{} of {} pass all three checks. What finds them is rows or heads that\n"
                    "somebody else computed: rotary table, docs/guide.md\n",
                    unseen, findings.mistakes.size());
}

void to_json(Json& json, const Finding& finding) {
  json = {{"name", finding.name},
          {"what", finding.what},
          {"result", finding.result},
          {"largest_difference", finding.largest_difference},
          {"result_norm", finding.result_norm},
          {"scores_at_same_distance", finding.scores},
          {"score_one_further", finding.score_further},
          {"norm_kept", finding.norm_kept},
          {"same_distance_same_score", finding.same_distance_same_score},
          {"distance_seen", finding.distance_seen}};
}

Json json_of(const Numbers& numbers, const Findings& findings) {
  Json json = document_of_pair("mistakes", numbers);
  json["shifts"] = moves;
  json["right"] = findings.right;
  json["mistakes"] = findings.mistakes;
  return json;
}

}  // namespace

std::string explain_mistakes(const Numbers& numbers, OutputForm form) {
  const Findings findings = findings_of(numbers);
  return form == OutputForm::json ? printed(json_of(numbers, findings))
                                  : text_of(numbers, findings);
}

}  // namespace rotary::cli::explain
