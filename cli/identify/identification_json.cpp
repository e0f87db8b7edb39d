// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "cli/failure.hpp"
#include "cli/identify/identification.hpp"
#include "rotary/spec_json.hpp"

namespace rotary::cli {
namespace {

Json cause_json(const Cause& cause) {
  return {{"name", cause.hypothesis->name},
          {"group", to_string(cause.hypothesis->group)},
          {"rule", text_or_null(cause.rule)},
          {"sentence", cause.sentence},
          {"advice", cause.hypothesis->advice},
          {"fields", json_array(cause.fields, [](const FieldDifference& field) -> Json {
             return {{"field", field.field}, {"configured", field.one}, {"found", field.other}};
           })}};
}

Json explanation_json(const Explanation& explanation) {
  return {
      {"causes", json_array(explanation.causes, cause_json)},
      {"residual", explanation.residual},
      {"bit_equal", explanation.bit_equal},
      {"arithmetic", to_string(explanation.arithmetic)},
      {"separating_position", explanation.separating_position},
      {"separating_grid", explanation.separating_grid},
      {"spec", explanation.spec ? Json::parse(value_or_fail(to_json(*explanation.spec))) : Json()}};
}

Json structure_json(const std::optional<FoundStructure>& structure) {
  if (!structure) return {};
  return {{"rotated", structure->rotated},
          {"pairing", to_string(structure->window.pairing)},
          {"rotary_dim", structure->window.rotary_dim},
          {"first_feature", structure->window.first_feature},
          {"blocks", structure->window.blocks},
          {"attention_factor", structure->attention_factor},
          {"deviation", structure->deviation}};
}

}  // namespace

Json identification_json(const IdentifyAnswer& answer) {
  const Identification& found = answer.found;
  const std::span all(found.explanations);
  const auto tied = all.first(found.tied);
  const auto closest = all.subspan(found.tied);
  return {{"schema_version", 1},
          {"verdict", to_string(found.verdict)},
          {"config", text_or_null(answer.config)},
          {"explanations", json_array(tied, explanation_json)},
          {"closest", json_array(closest, explanation_json)},
          {"tolerance", found.tolerance},
          {"structure", structure_json(found.structure)},
          {"turns_per_token", found.turns_per_token},
          {"first_position", found.first_position},
          {"layout", text_or_null(answer.layout)},
          {"dtype", to_string(found.dtype)},
          {"tokens", found.tokens},
          {"heads", found.heads},
          {"hypotheses", found.hypotheses},
          {"pairs", found.pairs}};
}

}  // namespace rotary::cli
