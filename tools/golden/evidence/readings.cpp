// SPDX-License-Identifier: Apache-2.0
// Readings of configs, and of GGUF files, for the comparison with engines: lines of JSON from
// standard input to standard output, one for each reading.
//
//   {"config": {...}, "dialect": "mlx", "context": 4096}, or {"gguf": path, "context": 4096}
//   {"refusal": null, "rules": [], "lengths": "each_call", "model": what rotary inspect prints}
//
//   {"config": {...}, "dialect": "transformers@4.51", "calls": [7, 149]}: tokens, one after the
//   other
//   {"refusal": null, "layers": [0, null], "calls": [[{"inv_freq": [], "factor": 1}]]}
//
//   {"error": "..."}, and for "families": [["llama", "rotary", "llama"]]
#include <iostream>
#include <string>

#include "cli/commands/inspection_json.hpp"
#include "cli/failure.hpp"
#include "cli/gguf_input.hpp"
#include "rotary/dialect.hpp"
#include "rotary/families.hpp"

namespace rotary::cli {
namespace {

Json model_json(ModelSpec model, std::optional<std::int64_t> context) {
  Inspection inspection{.model = std::move(model), .context_tokens = context};
  for (const ModelRotary& rotary : inspection.model.rotary) {
    auto frequencies = make_frequencies(rotary.spec, context);
    if (!frequencies) return {{"error", frequencies.error().message}};
    inspection.frequencies.push_back(*std::move(frequencies));
  }
  return {{"model", inspection_json(inspection)}};
}

Json file_answer(const std::string& path, std::optional<std::int64_t> context) {
  const auto metadata = read_gguf_file(path);
  if (!metadata) return {{"error", "not a GGUF file"}};
  auto model = resolve_gguf(*metadata, {.context_tokens = context});
  return model ? model_json(*std::move(model), context) : Json{{"error", model.error().message}};
}

Json families_json() {
  return json_array(value_or_fail(known_families()), [](const FamilyInfo& family) -> Json {
    const bool is_around = !family.text_model_type.empty();
    return {family.model_type, is_around ? "around another" : to_string(family.encoding),
            family.source};
  });
}

// A rule takes its length from its own trained context, not from that of the model.
std::int64_t trained_tokens(const ModelRotary& rotary) {
  const auto* const longrope = std::get_if<LongRopeScaling>(&rotary.spec.scaling);
  return longrope != nullptr ? longrope->original_context_tokens
                             : rotary.trained_context_tokens.value_or(1);
}

Json rope_json(const DialectReading& reading, const ModelRotary& rotary,
               const std::vector<std::int64_t>& calls) {
  const auto length = length_in_force(reading.lengths, trained_tokens(rotary), calls);
  if (!length) return {{"error", length.error().message}};
  const auto made = make_frequencies(rotary.spec, *length);
  if (!made) return {{"error", made.error().message}};
  return {{"inv_freq", made->inv_freq}, {"factor", made->attention_factor}};
}

Json calls_json(const DialectReading& reading, const Json& asked) {
  Json answer = {{"calls", Json::array()}};
  answer["layers"] = json_array(reading.model.layers, [](const ModelLayer& layer) {
    return layer.encoding == LayerEncoding::rotary ? Json(layer.rotary) : Json();
  });
  std::vector<std::int64_t> calls;
  for (const Json& call : asked) {
    calls.push_back(call.get<std::int64_t>());
    answer["calls"].push_back(json_array(reading.model.rotary, [&](const ModelRotary& rotary) {
      return rope_json(reading, rotary, calls);
    }));
  }
  return answer;
}

Json answer(const Json& asked) {
  if (asked.contains("families")) return families_json();
  std::optional<std::int64_t> context;
  if (asked.contains("context") && !asked.at("context").is_null())
    context = asked.at("context").get<std::int64_t>();
  if (asked.contains("gguf")) return file_answer(asked.at("gguf").get<std::string>(), context);
  const auto dialect = parse_dialect(asked.at("dialect").get<std::string>());
  if (!dialect) return {{"error", dialect.error().message}};
  auto reading = read_as(asked.at("config").dump(), *dialect);
  if (!reading) return {{"error", reading.error().message}};
  Json json = asked.contains("calls") ? calls_json(*reading, asked.at("calls"))
                                      : model_json(std::move(reading->model), context);
  // A refusal by evidence is what this program helps to find.
  const bool is_known = reading->evidence.kind == Evidence::absent;
  json["refusal"] = is_known ? Json() : Json(reading->refusal);
  json["rules"] = json_array(reading->acted, [](const auto* rule) { return rule->name; });
  json["lengths"] = to_string(reading->lengths);
  return json;
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
