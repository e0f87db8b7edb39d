// SPDX-License-Identifier: Apache-2.0
#include "lab/results/results_csv.hpp"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <string_view>

namespace rotary::lab {
namespace {

// "4x yarn" after a measure's name; "" for the length of the training.
std::string length_name(const LengthLoss& length) {
  if (length.multiple == 1) return "";
  return fmt::format(" {}x{}{}", length.multiple, length.rule.empty() ? "" : " ", length.rule);
}

void append_measures(std::string& csv, const ArmResult& arm, const CellResult& cell) {
  const auto line = [&](std::string_view measure, const std::optional<double>& value) {
    if (!value) return;
    fmt::format_to(std::back_inserter(csv), "{},{},{},{},{}\n", arm.name, arm.family, cell.seed,
                   measure, *value);
  };
  const Outcome& outcome = cell.outcome;
  line("steps", static_cast<double>(outcome.steps));
  line("parameters", static_cast<double>(outcome.parameters));
  line("cpu_s", outcome.cpu_s);
  if (!cell.curve.empty()) line("loss", outcome.validation_loss);
  for (const LengthLoss& length : outcome.lengths) {
    // That of the trained length is the loss at the end.
    if (length.multiple != 1) line("loss" + length_name(length), length.loss);
    line("last_quarter" + length_name(length), length.last_quarter);
  }
  for (const auto& [name, value] : outcome.metrics) line(name, value);
}

void append_curve(std::string& csv, const ArmResult& arm, const CellResult& cell) {
  for (const LogRow& row : cell.curve) {
    fmt::format_to(std::back_inserter(csv), "{},{},{},{},{}\n", arm.name, cell.seed, row.step,
                   row.train_loss, row.validation_loss);
  }
}

void append_pairs(std::string& csv, const ArmResult& arm, const CellResult& cell) {
  for (const PairInfluence& pair : cell.outcome.pairs) {
    if (csv.empty()) {
      csv = "arm,seed,layer,pair";
      for (const auto& [name, number] : named_numbers(pair)) csv += fmt::format(",{}", name);
      csv += "\n";
    }
    csv += fmt::format("{},{},{},{}", arm.name, cell.seed, pair.layer, pair.pair);
    for (const auto& [name, number] : named_numbers(pair)) csv += fmt::format(",{}", *number);
    csv += "\n";
  }
}

using Append = void(std::string& csv, const ArmResult& arm, const CellResult& cell);

std::string of_cells(const Results& results, std::string csv, Append* append) {
  for (const ArmResult& arm : results.arms) {
    for (const CellResult& cell : arm.cells) append(csv, arm, cell);
  }
  return csv;
}

}  // namespace

std::string measures_csv(const Results& results) {
  return of_cells(results, "arm,family,seed,measure,value\n", append_measures);
}

std::string curves_csv(const Results& results) {
  return of_cells(results, "arm,seed,step,training,validation\n", append_curve);
}

std::string pairs_csv(const Results& results) { return of_cells(results, "", append_pairs); }

}  // namespace rotary::lab
