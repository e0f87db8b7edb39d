// SPDX-License-Identifier: Apache-2.0
// Readings of configs, and of GGUF files, for the comparison with engines: lines of JSON from
// standard input to standard output, one for each reading.
//
//   {"config": {...}, "dialect": "mlx", "context": 4096}, or {"gguf": path, "context": 4096}
//   {"refusal": null, "rules": [], "lengths": "each_call", "model": what rotary inspect prints}
//   {"error": "..."}
#include <iostream>
#include <string>

#include "cli/commands/inspection_json.hpp"
#include "cli/gguf_input.hpp"
#include "rotary/dialect.hpp"

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

Json answer(const Json& asked) {
  std::optional<std::int64_t> context;
  if (!asked.at("context").is_null()) context = asked.at("context").get<std::int64_t>();
  if (asked.contains("gguf")) return file_answer(asked.at("gguf").get<std::string>(), context);
  const auto dialect = parse_dialect(asked.at("dialect").get<std::string>());
  if (!dialect) return {{"error", dialect.error().message}};
  auto reading = read_as(asked.at("config").dump(), *dialect);
  if (!reading) return {{"error", reading.error().message}};
  Json json = model_json(std::move(reading->model), context);
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
