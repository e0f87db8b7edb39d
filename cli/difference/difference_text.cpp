// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/failure.hpp"
#include "apps/printable.hpp"
#include "cli/commands/model_text.hpp"
#include "cli/difference/difference.hpp"
#include "cli/text_table.hpp"

namespace rotary::cli {
namespace {

std::string fields_text(const std::vector<FieldDifference>& fields, const Sides& sides) {
  if (fields.empty()) return {};
  std::vector<TextRow> rows;
  for (const FieldDifference& field : fields)
    rows.push_back({"  " + printable(field.field), printable(field.one), printable(field.other),
                    field.effect == FieldEffect::nothing ? "no effect on positions" : ""});
  return text_table(
      {left("  field"), left(printable(sides.one)), left(printable(sides.other)), left("")}, rows);
}

std::string rows_text(const RowsDifference& rows, std::int64_t context_tokens) {
  if (!rows.first_position) {
    return fmt::format("  rows agree within 2^-8 at each of the {} positions\n", context_tokens);
  }
  std::string text = fmt::format("  first difference       position {}: {:.4g} apart\n",
                                 *rows.first_position, rows.at_first);
  if (!rows.same_features) {
    text += "  features               other features turn together\n";
  } else if (!rows.pairs.empty()) {
    text += fmt::format("  pairs                  {}\n", runs_text(rows.pairs));
    text += fmt::format("  largest angle error    {}, of pair {}\n",
                        rows.largest_angle_error >= std::numbers::pi
                            ? "half a turn, or more"
                            : fmt::format("{:.4g} radians", rows.largest_angle_error),
                        rows.largest_angle_pair);
  }
  if (rows.largest_score_change) {
    text += fmt::format("  scores                 of unit vectors change by up to {:.4g}\n",
                        *rows.largest_score_change);
  }
  return text + fmt::format("  {:<23}of random q and k correlate {:.4g} at distance {}\n",
                            rows.largest_score_change ? "" : "scores", rows.least_correlation,
                            rows.least_correlation_distance);
}

std::string reading_text(const EngineReading& each) {
  const auto& [dialect, reading] = each;
  std::string text = fmt::format("\n{}:", value_or_fail(to_string(dialect)));
  if (reading.refusal) text += fmt::format(" does not run it: {}", printable(*reading.refusal));
  if (reading.acted.empty() && !reading.refusal) text += " as the config says";
  text += "\n";
  for (const DialectRule* rule : reading.acted) {
    const std::string_view evidence = rule->evidence == Evidence::run ? "" : "; read, not run";
    text += wrapped(fmt::format("{} [{}{}]", rule->sentence, rule->source, evidence), 2, 86);
  }
  for (const std::string& dispute : reading.disputes)
    text += wrapped(fmt::format("{} [not computed here]", printable(dispute)), 2, 86);
  if (reading.evidence.kind != Evidence::absent)
    text += wrapped(fmt::format("evidence: {}", printable(reading.evidence.sentence)), 2, 86);
  return text;
}

// "The rows part at position 1. What differs: base."; "" if only harmless fields differ.
std::string summary_text(const ModelDifference& difference) {
  std::vector<std::string> fields;
  std::optional<std::int64_t> first;
  const auto add = [&](const std::vector<FieldDifference>& found, FieldEffect least) {
    for (const FieldDifference& each : found) {
      const bool is_known = std::ranges::find(fields, each.field) != fields.end();
      const bool counts = each.effect == FieldEffect::model || each.effect == least;
      if (counts && !is_known) fields.push_back(each.field);
    }
  };
  add(difference.fields, FieldEffect::model);
  for (const RotaryDifference& pair : difference.rotary) {
    // If all rows agree, a field with an effect on rows only does not count.
    const auto& position = pair.rows.first_position;
    const bool has_rows = position || pair.not_comparable || pair.after_longer_call;
    add(pair.fields, has_rows ? FieldEffect::rows : FieldEffect::model);
    if (position) first = std::min<std::int64_t>(*position, first.value_or(*position));
  }
  std::string text;
  if (first) text = fmt::format("The rows part at position {}. ", *first);
  if (!fields.empty()) text += fmt::format("What differs: {}.", fmt::join(fields, ", "));
  return text.empty() ? text : wrapped(text, 0, 100);
}

}  // namespace

std::string runs_text(std::span<const std::int64_t> numbers) {
  return fmt::format("{}", fmt::join(number_runs(numbers), ", "));
}

std::string_view agreement_text(Agreement agreement) {
  if (agreement == Agreement::same) return "the same";
  return agreement == Agreement::different ? "different" : "no difference is known";
}

std::string comparison_text(const Comparison& comparison) {
  const Sides& sides = comparison.sides;
  const auto& difference = comparison.difference;
  std::string text =
      fmt::format("{} and {}{}: {}\n", printable(sides.one), printable(sides.other),
                  difference ? fmt::format(", {} tokens", difference->context_tokens) : "",
                  agreement_text(comparison.agreement));
  if (difference) text += summary_text(*difference);
  for (const EngineReading& each : comparison.readings) text += reading_text(each);
  if (!difference) return text;
  if (!difference->fields.empty()) text += "\n" + fields_text(difference->fields, sides);
  for (const RotaryDifference& pair : difference->rotary) {
    text += "\nrotary embedding";
    if (!pair.layers.empty())
      text += fmt::format(" of {} {}", pair.layers.size() == 1 ? "layer" : "layers",
                          runs_text(pair.layers));
    text += "\n" + fields_text(pair.fields, sides) +
            (pair.not_comparable ? fmt::format("  {}\n", *pair.not_comparable)
                                 : rows_text(pair.rows, difference->context_tokens));
    if (pair.after_longer_call && !pair.not_comparable)
      text += "  a short call after one of the whole context:\n" +
              rows_text(*pair.after_longer_call, difference->context_tokens);
  }
  return text;
}

}  // namespace rotary::cli
