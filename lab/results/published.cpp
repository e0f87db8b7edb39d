// SPDX-License-Identifier: Apache-2.0
#include "lab/results/published.hpp"

#include <cmath>

#include "lab/results/measures.hpp"

namespace rotary::lab {

std::vector<PublishedRow> beside(const Results& results, const PublishedTable& table) {
  const auto comparable = [&](double number) {
    return table.unit == PublishedUnit::perplexity ? std::log(number) : number;
  };
  std::vector<PublishedRow> rows;
  for (const auto& [measure, number] : table.values) {
    PublishedRow row{.measure = measure, .published = number};
    row.published_difference = comparable(number) - comparable(table.values.front().number);
    const ArmResult* arm = find_arm(results, measure.encoding);
    const auto ours = arm == nullptr ? std::nullopt : summary_of(results, *arm, measure);
    if (ours) row.ours = (table.unit == PublishedUnit::percent ? 100 : 1) * ours->mean;
    const auto& first = rows.empty() ? row.ours : rows.front().ours;
    if (row.ours && first) row.ours_difference = *row.ours - *first;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace rotary::lab
