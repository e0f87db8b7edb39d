// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <span>

#include "apps/failure.hpp"
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
  return {{"causes", json_array(explanation.causes, cause_json)},
          {"residual", explanation.residual},
          {"bit_equal", explanation.bit_equal},
          {"arithmetic", to_string(explanation.arithmetic)},
          {"separating_position", explanation.separating_position},
          {"separating_grid", explanation.separating_grid},
          {"spec", explanation.spec ? parse_json_in_order(value_or_fail(to_json(*explanation.spec)))
                                    : Json()}};
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

// The numbers as [rows][tokens], with null for NaN.
Json rows_json(std::span<const double> numbers, std::int64_t tokens) {
  Json rows = Json::array();
  const auto width = static_cast<std::size_t>(tokens);
  for (std::size_t at = 0; at < numbers.size(); at += width)
    rows.push_back(json_array(numbers.subspan(at, width), [](double number) {
      return std::isnan(number) ? Json() : Json(number);
    }));
  return rows;
}

Json axes_json(const std::vector<double>& numbers, const ReadPositions& positions) {
  Json axes = Json::array();
  const auto of_axis = static_cast<std::size_t>(positions.batch * positions.tokens);
  for (std::size_t at = 0; at < numbers.size(); at += of_axis)
    axes.push_back(rows_json(std::span(numbers).subspan(at, of_axis), positions.tokens));
  return axes;
}

Json positions_json(const std::optional<ReadPositions>& positions) {
  if (!positions) return {};
  return {{"expected", axes_json(positions->expected, *positions)},
          {"found", axes_json(positions->found, *positions)},
          {"residuals", rows_json(positions->residuals, positions->tokens)},
          {"aliases", rows_json(positions->aliases, positions->tokens)},
          {"unread", positions->unread}};
}

Json other_json(const std::optional<OtherProgram>& other) {
  if (!other) return {};
  constexpr std::array names = {"none", "rounding", "more", "unknown"};
  const auto tied = std::span(other->found.explanations).first(other->found.tied);
  return {{"difference", names.at(static_cast<std::size_t>(other->parting))},
          {"verdict", to_string(other->found.verdict)},
          {"explanations", json_array(tied, explanation_json)},
          {"dtype", to_string(other->found.dtype)}};
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
          {"positions", positions_json(found.positions)},
          {"checked_tokens", found.checked_tokens},
          {"layout", text_or_null(answer.layout)},
          {"right_layout", text_or_null(answer.right_layout)},
          {"notes", answer.notes},
          {"other", other_json(answer.other)},
          {"dtype", to_string(found.dtype)},
          {"tokens", found.tokens},
          {"heads", found.heads},
          {"hypotheses", found.hypotheses},
          {"pairs", found.pairs}};
}

}  // namespace rotary::cli
