// SPDX-License-Identifier: Apache-2.0

#include "lab/results/results_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/results/measures.hpp"
#include "lab/results/results.hpp"

namespace rotary::lab {

namespace {

std::string number(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.3f}", *loss) : "-";
}

// "2x yarn 2.551 (2.622)": the loss, and that of the last quarter of the tokens.
std::string lengths_text(const Outcome& outcome) {
  std::string text;
  for (const LengthLoss& length : outcome.lengths) {
    text += fmt::format("  {}x{}{} {} ({})", length.multiple, length.rule.empty() ? "" : " ",
                        length.rule, number(length.loss), number(length.last_quarter));
  }
  return text;
}

std::string metrics_text(const Outcome& outcome) {
  std::string text;
  for (const auto& [name, value] : outcome.metrics) text += fmt::format("  {} {:.3f}", name, value);
  return text;
}

std::string cells_text(const Results& results) {
  std::vector<std::pair<double, const ArmResult*>> order;
  for (const ArmResult& arm : results.arms) {
    const auto loss = loss_summary(arm);
    order.emplace_back(loss ? loss->mean : 0, &arm);
  }
  std::ranges::stable_sort(order, {}, &std::pair<double, const ArmResult*>::first);
  std::string text = fmt::format(
      "{:<13} {:>4} {:>7} {:>9} {:>8}  loss at multiples of the trained length (last quarter)\n",
      "encoding", "seed", "loss", "cpu s", "numbers");
  for (const auto& [loss, arm] : order) {
    for (const auto& [seed, outcome, curve, config] : arm->cells) {
      text += fmt::format("{:<13} {:>4} {:>7} {:>9.1f} {:>8}{}{}\n", arm->name, seed,
                          curve.empty() ? "-" : number(outcome.validation_loss), outcome.cpu_s,
                          outcome.parameters, lengths_text(outcome), metrics_text(outcome));
    }
  }
  return text;
}

std::string gaps_text(const ClaimResult& judged) {
  if (judged.gaps.empty()) return " nothing";
  std::string text;
  for (const Gap& gap : judged.gaps) text += fmt::format(" {:+.3f}", gap.higher - gap.lower);
  if (judged.interval) {
    text += fmt::format("; 95 % of {}: {:+.3f} to {:+.3f}",
                        judged.over_windows ? "validation windows" : "seeds", judged.interval->low,
                        judged.interval->high);
  }
  return text;
}

std::string claim_text(const ClaimResult& judged) {
  const Claim& claim = judged.claim;
  return fmt::format("{}: {}\n    {} - {} must be at least {:.3f} for every seed, got{}\n",
                     to_string(judged.verdict), claim.statement, text_of(claim.higher),
                     text_of(claim.lower), claim.margin, gaps_text(judged));
}

std::string published_text(const Results& results, const PublishedTable& table) {
  std::string text =
      fmt::format("\n{} ({})\n{:<30} {:>10} {:>8} {:>10} {:>8}\n", table.label, table.source,
                  to_string(table.unit), "published", "less 1st", "here", "less 1st");
  for (const PublishedRow& row : beside(results, table)) {
    const std::string less =
        row.ours_difference ? fmt::format("{:+.3f}", *row.ours_difference) : "-";
    text += fmt::format("{:<30} {:>10g} {:>+8.3f} {:>10} {:>8}\n", text_of(row.measure),
                        row.published, row.published_difference, number(row.ours), less);
  }
  return text;
}

}  // namespace

std::string text_of(const Results& results) {
  const Experiment& experiment = *results.experiment;
  std::string text = fmt::format("{}\nmirrors: {}\n\n", experiment.title, experiment.mirrors);
  text += cells_text(results);
  for (const PublishedTable& table : experiment.published) text += published_text(results, table);
  text += "\nLosses at equal steps: speed of convergence, not final quality.\n";
  for (const std::string& machine : machines_of(results)) text += "made with " + machine + "\n";
  for (const std::string& remark : results.remarks) text += "attention: " + remark + "\n";
  for (const ClaimResult& claim : results.claims) text += claim_text(claim);
  return text;
}

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
