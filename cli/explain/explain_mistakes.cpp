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

// The query and the scores that a mistake makes, and which checks they pass.
Json finding_of(const Numbers& numbers, const Mistake& mistake, const Vector& right) {
  const auto score = [&](std::int64_t query_position, std::int64_t key_position) {
    return dot(mistake.map(numbers.query, query_position, Role::query),
               mistake.map(numbers.key, key_position, Role::key));
  };
  const Vector result = mistake.map(numbers.query, numbers.query_position, Role::query);
  const double further = score(numbers.query_position, numbers.key_position - 1);
  Vector scores;
  for (const std::int64_t shift : moves) {
    scores.push_back(score(numbers.query_position + shift, numbers.key_position + shift));
  }
  const double factor = std::max(1.0, numbers.attention_factor());
  const double bound = rounding_bound(numbers.query.size()) * factor * norm(numbers.query);
  const double score_bound = bound * factor * norm(numbers.key);
  const auto is_first_score = [&](double each) {
    return std::abs(each - scores.front()) <= score_bound;
  };
  return {{"name", mistake.name},
          {"what", mistake.what},
          {"result", result},
          {"largest_difference", largest_difference(result, right)},
          {"result_norm", norm(result)},
          {"scores_at_same_distance", scores},
          {"score_one_further", further},
          {"norm_kept", std::abs(norm(result) - norm(right)) <= bound},
          {"same_distance_same_score", std::ranges::all_of(scores, is_first_score)},
          {"distance_seen", std::abs(further - scores.front()) > score_bound}};
}

Json mistakes_document(const Numbers& numbers) {
  const Mistake none{.name = "none",
                     .what = "as it should be",
                     .map = [&](const Vector& head, std::int64_t position, Role) {
                       return numbers.turned(head, position);
                     }};
  const Vector right = numbers.turned(numbers.query, numbers.query_position);
  Json json = document_of_pair("mistakes", numbers);
  json["shifts"] = moves;
  json["right"] = finding_of(numbers, none, right);
  json["mistakes"] = json_array(usual_mistakes(numbers), [&](const Mistake& mistake) {
    return finding_of(numbers, mistake, right);
  });
  return json;
}

constexpr std::array<std::string_view, 3> checks = {"norm_kept", "same_distance_same_score",
                                                    "distance_seen"};

std::string line_of(const std::array<std::string, 5>& cells) {
  return fmt::format("  {:<46}  {:>10}  {:>4}  {:>13}  {:>8}\n", cells[0], cells[1], cells[2],
                     cells[3], cells[4]);
}

std::string finding_text(const Json& finding) {
  const auto word = [&](std::size_t check) {
    return finding[checks[check]] == true ? "yes" : "NO";
  };
  return line_of({finding["what"],
                  fmt::format("{:.4g}", finding["largest_difference"].get<double>()), word(0),
                  word(1), word(2)});
}

std::string mistakes_text(const Numbers& numbers, const Json& json) {
  std::string text = query_text(numbers) + key_text(numbers) + spec_text(numbers) + "\n" +
                     line_of({"", "q' is off", "norm", "same distance", "distance"}) +
                     line_of({"mistake", "by up to", "kept", "same score", "seen"}) +
                     finding_text(json["right"]);
  for (const Json& finding : json["mistakes"]) text += finding_text(finding);
  const auto unseen = std::ranges::count_if(json["mistakes"], [](const Json& finding) {
    return std::ranges::all_of(checks,
                               [&](std::string_view check) { return finding[check] == true; });
  });
  return text + fmt::format(
                    "\n{} of {} pass all three checks. What finds them is rows or heads that\n"
                    "somebody else computed: rotary table, docs/guide.md\n",
                    unseen, json["mistakes"].size());
}

}  // namespace

std::string explain_mistakes(const Numbers& numbers, OutputForm form) {
  const Json json = mistakes_document(numbers);
  return form == OutputForm::json ? printed(json) : mistakes_text(numbers, json);
}

}  // namespace rotary::cli::explain
