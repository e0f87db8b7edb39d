// SPDX-License-Identifier: Apache-2.0
#include "apps/failure.hpp"
#include "cli/difference/difference.hpp"

namespace rotary::cli {
namespace {

Json fields_json(const std::vector<FieldDifference>& fields) {
  return json_array(fields, [](const FieldDifference& field) -> Json {
    return {{"field", field.field},
            {"one", field.one},
            {"other", field.other},
            {"effect", to_string(field.effect)}};
  });
}

Json rows_json(const RowsDifference& rows) {
  return {{"first_position", rows.first_position},
          {"at_first", rows.at_first},
          {"pairs", rows.pairs},
          {"same_features", rows.same_features},
          {"largest_angle_error", rows.largest_angle_error},
          {"largest_angle_pair", rows.largest_angle_pair},
          {"largest_score_change", rows.largest_score_change},
          {"least_correlation", rows.least_correlation},
          {"least_correlation_distance", rows.least_correlation_distance}};
}

Json rotary_json(const RotaryDifference& pair) {
  Json json = {{"one", pair.one},
               {"other", pair.other},
               {"layers", pair.layers},
               {"differs", pair.differs()},
               {"fields", fields_json(pair.fields)},
               {"not_comparable", pair.not_comparable}};
  json["rows"] = pair.not_comparable ? Json() : rows_json(pair.rows);
  json["after_longer_call"] = pair.after_longer_call ? rows_json(*pair.after_longer_call) : Json();
  return json;
}

Json reading_json(const EngineReading& each) {
  const DialectReading& reading = each.reading;
  return {{"dialect", value_or_fail(to_string(each.dialect))},
          {"source", facts_of(each.dialect.engine).source},
          {"numerics", to_string(facts_of(each.dialect.engine).numerics)},
          {"lengths", to_string(reading.lengths)},
          {"refusal", reading.refusal},
          {"evidence", to_string(reading.evidence.kind)},
          {"evidence_sentence", reading.evidence.sentence},
          {"disputes", reading.disputes},
          {"rules", json_array(reading.acted, [](const DialectRule* rule) -> Json {
             return {{"name", rule->name},
                     {"sentence", rule->sentence},
                     {"source", rule->source},
                     {"evidence", to_string(rule->evidence)}};
           })}};
}

}  // namespace

Json comparison_json(const Comparison& comparison) {
  Json json = {{"schema_version", 1},
               {"one", comparison.sides.one},
               {"other", comparison.sides.other},
               {"same", comparison.agreement == Agreement::same},
               {"verdict", to_string(comparison.agreement)},
               {"row_tolerance", row_tolerance},
               {"engines", json_array(comparison.readings, reading_json)}};
  const auto& difference = comparison.difference;
  json["context_tokens"] = difference ? Json(difference->context_tokens) : Json();
  json["fields"] = difference ? fields_json(difference->fields) : Json::array();
  json["rotary"] = difference ? json_array(difference->rotary, rotary_json) : Json::array();
  return json;
}

}  // namespace rotary::cli
