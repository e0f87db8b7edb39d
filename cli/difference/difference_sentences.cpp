// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <numbers>

#include "cli/difference/difference.hpp"

namespace rotary::cli {
namespace {

std::string score_words(const RowsDifference& rows) {
  std::string text;
  if (rows.largest_score_change)
    text =
        fmt::format(" Scores of unit vectors change by up to {:.4g}.", *rows.largest_score_change);
  return text + fmt::format(" Scores of random q and k correlate {:.4g} at distance {}.",
                            rows.least_correlation, rows.least_correlation_distance);
}

std::string rows_words(const RowsDifference& rows, std::int64_t context_tokens) {
  if (!rows.first_position)
    return fmt::format("cos and sin agree within 2^-8 at each of the {} positions.",
                       context_tokens);
  std::string text = fmt::format("cos and sin first differ at position {}, by {:.4g}.",
                                 *rows.first_position, rows.at_first);
  if (!rows.same_features) return text + " Other features turn together." + score_words(rows);
  if (rows.pairs.empty()) return text;
  const bool is_half = rows.largest_angle_error >= std::numbers::pi;
  return text +
         fmt::format(" Pairs {} differ; the largest angle error, of pair {}, is {}.",
                     runs_text(rows.pairs), rows.largest_angle_pair,
                     is_half ? "half a turn or more"
                             : fmt::format("{:.4g} radians", rows.largest_angle_error)) +
         score_words(rows);
}

}  // namespace

std::vector<std::string> comparison_sentences(const Comparison& comparison) {
  std::vector<std::string> sentences;
  const std::array names = {&comparison.sides.one, &comparison.sides.other};
  for (std::size_t i = 0; i < comparison.readings.size(); ++i) {
    const DialectReading& reading = comparison.readings[i].reading;
    if (reading.refusal)
      sentences.push_back(fmt::format("{} does not run it: {}.", *names[i], *reading.refusal));
    for (const DialectRule* rule : reading.acted)
      sentences.push_back(fmt::format("{}: {}", *names[i], rule->sentence));
    for (const std::string& dispute : reading.disputes)
      sentences.push_back(fmt::format("{}: {}.", *names[i], dispute));
    if (reading.evidence.kind == Evidence::none)
      sentences.push_back(fmt::format("Not known: {}.", reading.evidence.sentence));
  }
  if (!comparison.difference) return sentences;
  const std::int64_t tokens = comparison.difference->context_tokens;
  for (const RotaryDifference& pair : comparison.difference->rotary) {
    std::string& text = sentences.emplace_back(
        pair.layers.empty() ? "In all layers "
                            : fmt::format("In layers {} ", runs_text(pair.layers)));
    text += pair.not_comparable ? fmt::format("there are {}.", *pair.not_comparable)
                                : rows_words(pair.rows, tokens);
    if (pair.after_longer_call && !pair.not_comparable)
      text += " In a short call after one of the whole context " +
              rows_words(*pair.after_longer_call, tokens);
  }
  return sentences;
}

}  // namespace rotary::cli
