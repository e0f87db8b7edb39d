// SPDX-License-Identifier: Apache-2.0
// The readings of read_as for matrix.py: one JSON line for each line of standard input.
//
//   readings --families        [[model_type, encoding]] of all families
//   readings < questions       {"config": {…}, "dialect": "transformers@4.51", "calls": [7, 149]}
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rotary/dialect.hpp"
#include "rotary/families.hpp"
#include "rotary/frequencies.hpp"

namespace {

using Json = nlohmann::ordered_json;

Json families_json() {
  Json json = Json::array();
  const auto families = rotary::known_families();  // outlives the loop
  for (const rotary::FamilyInfo& family : *families)
    json.push_back(
        Json::array({family.model_type, family.text_model_type.empty() ? to_string(family.encoding)
                                                                       : "around another"}));
  return json;
}

// The rule takes its length from its own trained context, not from that of the model.
std::int64_t trained_tokens(const rotary::ModelRotary& rotary) {
  if (const auto* longrope = std::get_if<rotary::LongRopeScaling>(&rotary.spec.scaling))
    return longrope->original_context_tokens;
  return rotary.trained_context_tokens.value_or(1);
}

Json rope_json(const rotary::DialectReading& reading, const rotary::ModelRotary& rotary,
               const std::vector<std::int64_t>& calls) {
  const auto length = length_in_force(reading.lengths, trained_tokens(rotary), calls);
  if (!length) return {{"error", length.error().message}};
  const auto made = make_frequencies(rotary.spec, *length);
  if (!made) return {{"error", made.error().message}};
  return {{"inv_freq", made->inv_freq}, {"factor", made->attention_factor}};
}

Json answer_to(const Json& question) {
  const auto dialect = rotary::parse_dialect(question.at("dialect").get<std::string>());
  if (!dialect) return {{"error", dialect.error().message}};
  const auto reading = rotary::read_as(question.at("config").dump(), *dialect);
  if (!reading) return {{"error", reading.error().message}};
  // A refusal by evidence is what this program helps to find.
  if (reading->refusal && reading->evidence.kind != rotary::Evidence::absent)
    return {{"refusal", *reading->refusal}};
  Json answer = {{"layers", Json::array()}, {"calls", Json::array()}, {"acted", Json::array()}};
  for (const rotary::ModelLayer& layer : reading->model.layers) {
    const bool rotates = layer.encoding == rotary::LayerEncoding::rotary;
    answer["layers"].push_back(rotates ? Json(layer.rotary) : Json());
  }
  for (const rotary::DialectRule* rule : reading->acted) answer["acted"].push_back(rule->name);
  std::vector<std::int64_t> calls;
  for (const std::int64_t call : question.at("calls")) {
    calls.push_back(call);
    Json ropes = Json::array();
    for (const rotary::ModelRotary& rotary : reading->model.rotary)
      ropes.push_back(rope_json(*reading, rotary, calls));
    answer["calls"].push_back(ropes);
  }
  return answer;
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && std::string(words[1]) == "--families") {
    std::cout << families_json() << '\n';
    return 0;
  }
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer_to(Json::parse(line)) << '\n';
  return 0;
}
