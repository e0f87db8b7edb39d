// SPDX-License-Identifier: Apache-2.0
// Prints docs/schema/encodings.schema.json, made from rotary/describe.hpp. The schema describes
// scaling rules and lists the names of relative biases and pairings.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rotary/relative_bias.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/scaling.hpp"

namespace {

using Json = nlohmann::ordered_json;
using rotary::ParameterFacts;

// Patches to the schemas of rules, with requirements that the headers' facts lack.
const Json beyond_facts = Json::parse(R"({
  "yarn": {
    "properties": {
      "beta_fast": {"exclusiveMinimum": null, "minimum": 0},
      "beta_slow": {"exclusiveMinimum": null, "minimum": 0},
      "attention_factor": {
        "exclusiveMinimum": null, "minimum": 9.5367431640625e-07, "maximum": 1048576},
      "truncate": {
        "type": "boolean", "default": true,
        "description": "whether the ramp starts and ends on whole pairs"},
      "finetuned": {"type": "boolean", "description": "read and not used, as in configs"}
    },
    "not": {"required": ["ramp", "truncate"]}
  },
  "clipped": {"properties": {"clipped_pairs": {"maximum": 32768}}},
  "pixel": {"properties": {"max_freq": {"maximum": 699970842190}}}
})");

Json number(double value) {
  if (value == std::trunc(value) && std::abs(value) <= 0x1p53)
    return static_cast<std::int64_t>(value);
  return value;
}

// Adds the schema of each parameter. A parameter whose default is out of bounds is required.
struct ParameterSchemas {
  Json& rule;

  void operator()(const ParameterFacts& facts, double value) { add_number(facts, "number", value); }
  void operator()(ParameterFacts facts, std::int64_t value) {
    facts.bounds.most = std::min(facts.bounds.most, 0x1p53);
    add_number(facts, "integer", static_cast<double>(value));
  }
  void operator()(const ParameterFacts& facts, const std::optional<double>& /*value*/) {
    add(facts, bounded("number", facts));
  }
  void operator()(const ParameterFacts& facts, const std::vector<double>& /*value*/) {
    rule["required"].push_back(facts.name);
    add(facts, {{"type", "array"}, {"items", bounded("number", facts)}, {"minItems", 1}});
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(const ParameterFacts& facts, Enum value) {
    Json names = Json::array();
    for (const auto& each : rotary::Describe<Enum>::enumerators) names.push_back(each.name);
    add(facts, {{"enum", names}, {"default", rotary::enumerator_name(value)}});
  }

 private:
  static Json bounded(const char* type, const ParameterFacts& facts) {
    const auto& [least, most, requirement] = facts.bounds;
    Json schema = {{"type", type}};
    if (least == rotary::finite_positive.least)
      schema["exclusiveMinimum"] = 0;
    else if (least > rotary::finite_number.least)
      schema["minimum"] = number(least);
    if (most < rotary::finite_number.most) schema["maximum"] = number(most);
    return schema;
  }
  void add_number(const ParameterFacts& facts, const char* type, double value) {
    Json schema = bounded(type, facts);
    if (value >= facts.bounds.least && value <= facts.bounds.most)
      schema["default"] = number(value);
    else
      rule["required"].push_back(facts.name);
    add(facts, schema);
  }
  void add(const ParameterFacts& facts, Json schema) {
    schema["description"] = facts.meaning;
    rule["properties"][facts.name] = schema;
  }
};

Json schema_of(const rotary::Scaling& scaling) {
  Json rule = {{"type", "object"},
               {"description", rotary::sentence(scaling)},
               {"required", {"rope_type"}},
               {"additionalProperties", false}};
  rule["properties"]["rope_type"]["const"] = rotary::rope_type(scaling);
  rotary::for_each_parameter(scaling, ParameterSchemas{rule});
  rule.merge_patch(beyond_facts.value(std::string(rotary::rope_type(scaling)), Json::object()));
  return rule;
}

}  // namespace

int main() {
  Json definitions, forms;
  for (const std::string_view name : rotary::rope_types()) {
    forms.push_back({{"$ref", "#/$defs/" + std::string(name)}});
    definitions[std::string(name)] = schema_of(*rotary::scaling_named(name));
  }
  definitions["scaling"] = {{"type", "object"}, {"oneOf", forms}};
  definitions["relative_bias"]["enum"] = rotary::relative_bias_names();
  for (const rotary::Pairing pairing : rotary::all_pairings)
    definitions["pairing"]["enum"].push_back(to_string(pairing));
  const Json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "rotary: scaling rules, relative biases and pairings"},
      {"description",
       "Made from the facts of the headers by ./dev record --accept. In the sentence of a rule "
       "{KEY} stands for the value of the parameter of this name."},
      {"$defs", definitions}};
  std::cout << schema.dump() << '\n';
}
