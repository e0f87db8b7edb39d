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

struct Score {
  std::int64_t query_position, key_position;
  double exact;       // of heads turned in double
  double of_library;  // of heads that rotate() turned in float32
};

void to_json(Json& json, const Score& score) {
  json = {{"query_position", score.query_position},
          {"key_position", score.key_position},
          {"score", score.exact},
          {"library_score_f32", score.of_library}};
}

using Norms = std::array<double, 2>;  // before, after

struct Relative {
  std::vector<Score> same_distance;
  std::vector<Score> others;  // the key further and further before the query
  double unturned;
  Norms query_norms;
  Norms key_norms;
  Check check;  // of the scores at the same distance
};

Score score_at(const Numbers& numbers, std::int64_t query_position, std::int64_t key_position) {
  const auto by_library = [&](const Vector& x, std::int64_t position) {
    const std::vector<float> head = rotated_by_library(x, numbers.frequencies, position);
    return Vector(head.begin(), head.end());
  };
  return {.query_position = query_position,
          .key_position = key_position,
          .exact = dot(numbers.turned(numbers.query, query_position),
                       numbers.turned(numbers.key, key_position)),
          .of_library = dot(by_library(numbers.query, query_position),
                            by_library(numbers.key, key_position))};
}

Relative relative_of(const Numbers& numbers) {
  const auto norms = [&](const Vector& x, std::int64_t position) {
    return Norms{norm(x), norm(numbers.turned(x, position))};
  };
  const double growth = std::max(1.0, numbers.attention_factor() * numbers.attention_factor());
  Relative relative{.same_distance = {},
                    .others = {},
                    .unturned = dot(numbers.query, numbers.key),
                    .query_norms = norms(numbers.query, numbers.query_position),
                    .key_norms = norms(numbers.key, numbers.key_position),
                    .check = {.deviation = 0,
                              .bound = rounding_bound(numbers.query.size()) * growth *
                                       norm(numbers.query) * norm(numbers.key)}};
  for (const std::int64_t shift : shifts) {
    relative.same_distance.push_back(
        score_at(numbers, numbers.query_position + shift, numbers.key_position + shift));
    const double difference =
        std::abs(relative.same_distance.back().exact - relative.same_distance.front().exact);
    relative.check.deviation = std::max(relative.check.deviation, difference);
  }
  for (const std::int64_t distance : other_distances) {
    relative.others.push_back(
        score_at(numbers, numbers.query_position, numbers.query_position - distance));
  }
  require(relative.check, "the score at one distance");
  return relative;
}

std::string scores_text(const std::vector<Score>& scores) {
  std::string text = fmt::format("  {:>16}  {:>16}  {:>9}  {:>16}  {:>20}\n", "query at", "key at",
                                 "distance", "score", "of rotate(), float32");
  for (const Score& score : scores) {
    text += fmt::format("  {:>16}  {:>16}  {:>9}  {:>16.9g}  {:>20.9g}\n", score.query_position,
                        score.key_position, score.query_position - score.key_position, score.exact,
                        score.of_library);
  }
  return text;
}

std::string text_of(const Numbers& numbers, const Relative& relative) {
  std::string text = query_text(numbers) + key_text(numbers) + spec_text(numbers);
  text += "\nSame distance, same score\n" + scores_text(relative.same_distance);
  text += fmt::format("  differ by {:.1e}, of at most {:.1e}\n", relative.check.deviation,
                      relative.check.bound);
  text += fmt::format("\nThe norm {}\n", numbers.attention_factor() == 1
                                             ? "stays"
                                             : "of what turns grows by the attention factor A");
  for (const auto& [name, norms] :
       {std::pair("q", relative.query_norms), std::pair("k", relative.key_norms)}) {
    text += fmt::format("  |{}| {:.9g} before, {:.9g} after\n", name, norms[0], norms[1]);
  }
  text += fmt::format("\nOther distances, other scores (without positions: {:.9g})\n",
                      relative.unturned);
  text += scores_text(relative.others);
  return text +
         "  Rises and falls: no law makes the score of given q and k fall with distance.\n"
         "\nWhat breaks it, and what breaks although this holds: rotary explain mistakes\n";
}

Json json_of(const Numbers& numbers, const Relative& relative) {
  Json json = document_of_pair("relative", numbers);
  json["same_distance"] = relative.same_distance;
  add_check(json, relative.check);
  json["other_distances"] = relative.others;
  json["score_without_positions"] = relative.unturned;
  json["query_norms"] = relative.query_norms;
  json["key_norms"] = relative.key_norms;
  return json;
}

}  // namespace

std::string explain_relative(const Numbers& numbers, OutputForm form) {
  const Relative relative = relative_of(numbers);
  return form == OutputForm::json ? printed(json_of(numbers, relative))
                                  : text_of(numbers, relative);
}

}  // namespace rotary::cli::explain
