// SPDX-License-Identifier: Apache-2.0
// The relative property on numbers: same distance, same score, wherever the two tokens stand; the
// norm stays; and the score at other distances, which follows no law of falling.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cli/explain/topics.hpp"

namespace rotary::cli::explain {
namespace {

constexpr std::array<std::int64_t, 6> shifts = {0,      1,         100,
                                                10'000, 1'000'000, std::int64_t{1} << 40};
constexpr std::array<std::int64_t, 12> other_distances = {0,  1,  2,   3,   5,    10,
                                                          20, 50, 100, 500, 1000, 10'000};

// The score of heads turned in double, and of heads that rotate() turned in float32.
Json score_at(const Numbers& numbers, std::int64_t query_position, std::int64_t key_position) {
  return {{"query_position", query_position},
          {"key_position", key_position},
          {"score", dot(numbers.turned(numbers.query, query_position),
                        numbers.turned(numbers.key, key_position))},
          {"library_score_f32", dot(numbers.rotated_by_library(numbers.query, query_position),
                                    numbers.rotated_by_library(numbers.key, key_position))}};
}

Json relative_document(const Numbers& numbers) {
  const Vector& query = numbers.query;
  const Vector& key = numbers.key;
  const std::int64_t m = numbers.query_position;
  const std::int64_t n = numbers.key_position;
  const double growth = std::max(1.0, numbers.attention_factor() * numbers.attention_factor());
  Check check{.deviation = 0,
              .bound = rounding_bound(query.size()) * growth * norm(query) * norm(key)};
  Json json = document_of_pair("relative", numbers);
  Json& same = json["same_distance"];
  for (const std::int64_t shift : shifts) {
    same.push_back(score_at(numbers, m + shift, n + shift));
    const double difference = same.back()["score"].get<double>() - same[0]["score"].get<double>();
    check.deviation = std::max(check.deviation, std::abs(difference));
  }
  require(check, "the score at one distance");
  add_check(json, check);
  json["other_distances"] = json_array(
      other_distances, [&](std::int64_t distance) { return score_at(numbers, m, m - distance); });
  json["score_without_positions"] = dot(query, key);
  json["query_norms"] = {norm(query), norm(numbers.turned(query, m))};
  json["key_norms"] = {norm(key), norm(numbers.turned(key, n))};
  return json;
}

std::string scores_text(const Json& scores) {
  std::string text = fmt::format("  {:>16}  {:>16}  {:>9}  {:>16}  {:>20}\n", "query at", "key at",
                                 "distance", "score", "of rotate(), float32");
  for (const Json& score : scores) {
    const auto query = score["query_position"].get<std::int64_t>();
    const auto key = score["key_position"].get<std::int64_t>();
    text += fmt::format("  {:>16}  {:>16}  {:>9}  {:>16.9g}  {:>20.9g}\n", query, key, query - key,
                        score["score"].get<double>(), score["library_score_f32"].get<double>());
  }
  return text;
}

std::string relative_text(const Numbers& numbers, const Json& json) {
  std::string text =
      pair_text(numbers) + "\nSame distance, same score\n" + scores_text(json["same_distance"]);
  text += fmt::format("  differ by {:.1e}, of at most {:.1e}\n", json["deviation"].get<double>(),
                      json["bound"].get<double>());
  text += fmt::format("\nThe norm {}\n", numbers.attention_factor() == 1
                                             ? "stays"
                                             : "of what turns grows by the attention factor A");
  for (const auto& [name, norms] : {std::pair("q", "query_norms"), std::pair("k", "key_norms")}) {
    text += fmt::format("  |{}| {:.9g} before, {:.9g} after\n", name, json[norms][0].get<double>(),
                        json[norms][1].get<double>());
  }
  text += fmt::format("\nOther distances, other scores (without positions: {:.9g})\n",
                      json["score_without_positions"].get<double>());
  text += scores_text(json["other_distances"]);
  return text +
         "  Rises and falls: no law makes the score of given q and k fall with distance.\n"
         "\nWhat breaks it, and what breaks although this holds: rotary explain mistakes\n";
}

}  // namespace

std::string explain_relative(const Numbers& numbers, OutputForm form) {
  const Json json = relative_document(numbers);
  return form == OutputForm::json ? printed(json) : relative_text(numbers, json);
}

}  // namespace rotary::cli::explain
