// SPDX-License-Identifier: Apache-2.0
// Two topics about scores. `relative`: scores depend only on the distance, norms stay, and scores
// need not fall with the distance. `mistakes`: which usual check finds which mistake. Most mistakes
// pass all checks, so compare rows with another program's numbers.
#include <fmt/format.h>

#include <array>
#include <functional>
#include <variant>

#include "cli/explain/topics.hpp"
#include "cli/hidden_size.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli::explain {
namespace {

constexpr std::array<std::int64_t, 6> shifts = {0,      1,         100,
                                                10'000, 1'000'000, std::int64_t{1} << 40};
constexpr std::array<std::int64_t, 12> other_distances = {0,  1,  2,   3,   5,    10,
                                                          20, 50, 100, 500, 1000, 10'000};

// The score after rotation in double, and after rotate() in float32.
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
    check.deviation = larger(check.deviation, std::abs(difference));
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

// Rotates a query or a key (by role) with a mistake.
using Map = std::function<Vector(const Vector& head, std::int64_t position, Role role)>;

struct Mistake {
  std::string_view name;
  std::string what;  // at most 46 columns
  Map map;
};

// Rotates queries and keys, each by their own frequencies.
Map turning_by(const Frequencies& of_queries, const Frequencies& of_keys) {
  return [of_queries, of_keys](const Vector& head, std::int64_t position, Role role) {
    return turned(head, role == Role::query ? of_queries : of_keys, position);
  };
}
Map turning_by(const Frequencies& frequencies) { return turning_by(frequencies, frequencies); }

Map other_base_for_keys(const Frequencies& frequencies) {
  Vector slower = frequencies.inv_freq;
  const auto pairs = static_cast<double>(slower.size());
  for (std::size_t i = 0; i < slower.size(); ++i) {
    slower[i] *= std::pow(2.0, -static_cast<double>(i) / pairs);
  }
  return turning_by(frequencies,
                    value_or_fail(make_frequencies(frequencies.window, std::move(slower),
                                                   frequencies.attention_factor)));
}

Map other_pairing(const Numbers& numbers) {
  return [&numbers](const Vector& head, std::int64_t position, Role) {
    const FormInput input(numbers.frequencies, position);
    const Elements elements =
        reads_halves(input.pairing) ? Elements::every_two : Elements::rotate_half;
    Vector result = head;
    std::ranges::copy(by_elements(input, numbers.window_of(head), elements),
                      result.begin() + numbers.frequencies.window.first_feature);
    return result;
  };
}

// rot(x) = (-x1, x0, -x3, x2, ...) with its last two elements misprinted as (-x[d-2], x[d-1]).
Map misprinted_last_pair(const Numbers& numbers) {
  return [&numbers](const Vector& head, std::int64_t position, Role) {
    Vector result = numbers.turned(head, position);
    const Pair last = numbers.pairs_at(position).back();
    const double factor = numbers.attention_factor();
    result[last.first_result] = head[last.first_feature] * factor * (last.cos - last.sin);
    result[last.second_result] = head[last.second_feature] * factor * (last.cos + last.sin);
    return result;
  };
}

std::vector<Mistake> mistaken_frequencies(const Numbers& numbers) {
  if (!std::holds_alternative<NoScaling>(numbers.spec.scaling)) {
    RotarySpec unscaled = numbers.spec;
    unscaled.scaling = NoScaling{};
    return {{"scaling_ignored", "the config's scaling rule left out",
             turning_by(value_or_fail(make_frequencies(unscaled)))}};
  }
  if (numbers.spec.sense != Sense::positive) return {};
  const auto exponents = [&](double first, double step) {
    return turning_by(with_exponents(numbers, [=](double i) { return first + step * i; }));
  };
  const auto d = static_cast<double>(numbers.rotary_dim());
  std::vector<Mistake> mistakes = {
      {"exponent_i_over_d", "exponent i/d for 2i/d", exponents(0, 1 / d)},
      {"pairs_from_1", "exponent 2i/d with i from 1", exponents(2 / d, 2 / d)}};
  // A model with one fully rotated head makes no mistake here: D = d.
  const std::int64_t width = numbers.hidden_size.value_or(usual_hidden_size);
  if (width != numbers.frequencies.window.rotary_dim) {
    mistakes.push_back(
        {"model_width_for_d",
         fmt::format("exponent 2i/D, D = {}{}", width,
                     numbers.hidden_size ? ", the model's width" : "; the width is unknown"),
         exponents(0, 2 / static_cast<double>(width))});
  }
  return mistakes;
}

// Some mistakes exist only for one pairing, or only with or without a scaling rule. The results
// refer to `numbers`, which must outlive them.
std::vector<Mistake> usual_mistakes(const Numbers& numbers) {
  std::vector<Mistake> mistakes = mistaken_frequencies(numbers);
  const auto add = [&](std::string_view name, std::string_view what, auto position_of) {
    mistakes.push_back(
        {name, std::string(what),
         [&numbers, position_of](const Vector& head, std::int64_t position, Role role) {
           return numbers.turned(head, position_of(position, role));
         }});
  };
  mistakes.push_back({"other_pairing", "the other pairing", other_pairing(numbers)});
  add("other_sense", "rotate_half negates the first half: turned back",
      [](std::int64_t position, Role) { return -position; });
  add("positions_from_1", "positions counted from 1",
      [](std::int64_t position, Role) { return position + 1; });
  add("positions_in_bf16", "positions rounded to bf16", [](std::int64_t position, Role) {
    const auto value = static_cast<double>(position);  // 8 bits of significand, ties to even
    const double step = std::ldexp(1.0, position == 0 ? 0 : std::ilogb(value) - 7);
    return static_cast<std::int64_t>(std::nearbyint(value / step) * step);
  });
  add("head_index", "cos and sin broadcast over heads (head 1)",
      [](std::int64_t, Role) { return std::int64_t{1}; });
  add("query_alone", "the query turned, the key not",
      [](std::int64_t position, Role role) { return role == Role::query ? position : 0; });
  mistakes.push_back({"other_base_for_keys", "keys cached under another base",
                      other_base_for_keys(numbers.frequencies)});
  if (numbers.frequencies.window.pairing.get() == Pairing::interleaved) {
    mistakes.push_back({"last_pair_misprinted", "the last two of rot(x) as (-x[d-2], x[d-1])",
                        misprinted_last_pair(numbers)});
  }
  return mistakes;
}

constexpr std::array<std::int64_t, 3> moves = {0, 300, 5000};

// The rotated query and the scores with this mistake, and which checks they pass.
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
  const Mistake none{"none", "as it should be", turning_by(numbers.frequencies)};
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
  std::string text =
      pair_text(numbers) + "\n" + line_of({"", "q' is off", "norm", "same distance", "distance"}) +
      line_of({"mistake", "by up to", "kept", "same score", "seen"}) + finding_text(json["right"]);
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

std::string explain_relative(const Numbers& numbers, OutputForm form) {
  const Json json = relative_document(numbers);
  return form == OutputForm::json ? printed(json) : relative_text(numbers, json);
}

std::string explain_mistakes(const Numbers& numbers, OutputForm form) {
  const Json json = mistakes_document(numbers);
  return form == OutputForm::json ? printed(json) : mistakes_text(numbers, json);
}

}  // namespace rotary::cli::explain
