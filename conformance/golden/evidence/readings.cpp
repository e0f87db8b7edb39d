// SPDX-License-Identifier: Apache-2.0
// Reads configs and GGUF files for the comparison with engines: JSON lines from standard input to
// standard output.
//
// A question has the tokens of consecutive calls. About a file, it has one context:
//   {"config": {...}, "dialect": "transformers@4.51", "calls": [7, 149]}
//   {"gguf": path, "calls": [4096]}
//   {"families": 1}
// An answer is {"error": "..."}, or one of two forms: for a config or file, and for families:
//   {"refusal": null, "lengths": "each_call", "layers": [0, null],
//    "calls": [[{"inv_freq": [], "factor": 1, "pairing": "half"}]]}
//   [["llava", "around another", "llava", "llama"]]
#include <iostream>
#include <string>

#include "apps/failure.hpp"
#include "apps/json.hpp"
#include "cli/gguf_input.hpp"
#include "rotary/dialect.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {
namespace {

Json families_json() {
  return json_array(value_or_fail(known_families()), [](const FamilyInfo& family) -> Json {
    const bool is_around = !family.text_model_type.empty();
    return {family.model_type, is_around ? "around another" : to_string(family.encoding),
            family.source, family.text_model_type};
  });
}

// LongRoPE's own original context; for other rules, the model's trained context.
std::int64_t trained_tokens(const ModelRotary& rotary) {
  const auto* const longrope = std::get_if<LongRopeScaling>(&rotary.spec.scaling);
  return longrope != nullptr ? longrope->original_context_tokens
                             : rotary.trained_context_tokens.value_or(1);
}

// The pairing of the checkpoint that the engine read, not of the GGUF file that it wrote.
Pairing pairing_of(const ModelSpec& model, const ModelRotary& rotary) {
  const auto of_weights = model.gguf ? model.gguf->checkpoint_pairing : std::nullopt;
  return of_weights.value_or(rotary.spec.pairing);
}

Json rope_json(const DialectReading& reading, const ModelRotary& rotary,
               const std::vector<std::int64_t>& calls) {
  const auto length = length_in_force(reading.lengths, trained_tokens(rotary), calls);
  if (!length) return {{"error", length.error().message}};
  auto made = make_frequencies(rotary.spec, *length);
  if (!made) return {{"error", made.error().message}};
  return {{"inv_freq", made->inv_freq},
          {"factor", made->attention_factor},
          {"pairing", to_string(pairing_of(reading.model, rotary))}};
}

Json reading_json(const DialectReading& reading, const std::vector<std::int64_t>& tokens) {
  // Leaves out refusals by evidence, since this program helps to find the evidence.
  const bool is_known = reading.evidence.kind == Evidence::absent;
  Json answer = {{"refusal", is_known ? Json() : Json(reading.refusal)},
                 {"lengths", to_string(reading.lengths)},
                 {"calls", Json::array()}};
  answer["layers"] = json_array(reading.model.layers, [](const ModelLayer& layer) {
    return layer.encoding == LayerEncoding::rotary ? Json(layer.rotary) : Json();
  });
  std::vector<std::int64_t> calls;
  for (const std::int64_t call : tokens) {
    calls.push_back(call);
    answer["calls"].push_back(json_array(reading.model.rotary, [&](const ModelRotary& rotary) {
      return rope_json(reading, rotary, calls);
    }));
  }
  return answer;
}

Json answer(const Json& asked) {
  if (asked.contains("families")) return families_json();
  const auto calls = asked.at("calls").get<std::vector<std::int64_t>>();
  if (asked.contains("gguf")) {
    const auto metadata = read_gguf_file(asked.at("gguf").get<std::string>());
    if (!metadata) return {{"error", "not a GGUF file"}};
    DialectReading reading;
    reading.model = value_or_fail(resolve_gguf(*metadata, {.context_tokens = calls.back()}));
    return reading_json(reading, calls);
  }
  const Dialect dialect = value_or_fail(parse_dialect(asked.at("dialect").get<std::string>()));
  return reading_json(value_or_fail(read_as(asked.at("config").dump(), dialect)), calls);
}

Json guarded_answer(const std::string& line) {
  try {
    return answer(Json::parse(line));
  } catch (const std::exception& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace
}  // namespace rotary::cli

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << rotary::cli::guarded_answer(line).dump() << std::endl;
}
