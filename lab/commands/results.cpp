// SPDX-License-Identifier: Apache-2.0
// results: the finished cells of a preset as a table, and its claims.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/commands/bleu_comparison.hpp"
#include "lab/commands/commands.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiment.hpp"
#include "lab/experiment/verdict.hpp"
#include "lab/process/machine.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {
namespace {

// Of one encoding, by seed.
using Outcomes = std::map<std::uint64_t, Outcome>;

double mean_loss(const Outcomes& outcomes) {
  double sum = 0;
  for (const auto& [seed, outcome] : outcomes) sum += outcome.validation_loss;
  return sum / static_cast<double>(outcomes.size());
}

std::string number(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.3f}", *loss) : "-";
}

// "2x 2.551 (2.622)": the loss, and that of the last quarter of the tokens.
std::string lengths_text(const Outcome& outcome) {
  std::string text;
  for (const LengthLoss& length : outcome.lengths) {
    text += fmt::format("  {}x{}{} {} ({})", length.multiple, length.rule.empty() ? "" : " ",
                        length.rule, number(length.loss), number(length.last_quarter));
  }
  return text;
}

void print_table(const std::map<std::string, Outcomes>& results) {
  std::vector<std::pair<double, std::string>> order;
  order.reserve(results.size());
  for (const auto& [encoding, outcomes] : results)
    order.emplace_back(mean_loss(outcomes), encoding);
  std::ranges::sort(order);
  fmt::print(
      "{:<13} {:>4} {:>7} {:>9} {:>8}  loss at multiples of the trained length (last "
      "quarter)\n",
      "encoding", "seed", "loss", "cpu s", "numbers");
  for (const auto& [loss, encoding] : order) {
    for (const auto& [seed, outcome] : results.at(encoding)) {
      fmt::print("{:<13} {:>4} {:>7.3f} {:>9.1f} {:>8}{}\n", encoding, seed,
                 outcome.validation_loss, outcome.cpu_s, outcome.parameters, lengths_text(outcome));
    }
  }
}

// "rope yarn 2x, last quarter"
std::string text_of(const Measure& measure) {
  return fmt::format("{}{}{}{}{}", measure.encoding, measure.rule.empty() ? "" : " ", measure.rule,
                     measure.multiple == 1 ? "" : fmt::format(" {}x", measure.multiple),
                     measure.last_quarter ? ", last quarter" : "");
}

void print_claim(const Claim& claim, const std::map<std::string, Outcomes>& results) {
  std::vector<double> gaps;
  std::string listed;
  const auto lower = results.find(claim.lower.encoding);
  const auto higher = results.find(claim.higher.encoding);
  if (lower != results.end() && higher != results.end()) {
    for (const auto& [seed, outcome] : lower->second) {
      const auto other = higher->second.find(seed);
      if (other == higher->second.end()) continue;
      const auto below = value_of(outcome, claim.lower);
      const auto above = value_of(other->second, claim.higher);
      if (!below || !above) continue;
      gaps.push_back(*above - *below);
      listed += fmt::format(" {:+.3f}", gaps.back());
    }
  }
  fmt::print("{}: {}\n    {} - {} must be at least {:.3f} for every seed, got{}\n",
             to_string(judge(gaps, claim.margin)), claim.statement, text_of(claim.higher),
             text_of(claim.lower), claim.margin, listed.empty() ? " nothing" : listed);
}

// Where there are several, processor times compare within one of them alone, and losses are the
// same to rounding, not to the bit.
void print_machines(const std::map<std::string, Outcomes>& results) {
  std::map<std::string, std::string> cells;  // by machine
  for (const auto& [encoding, outcomes] : results) {
    for (const auto& [seed, outcome] : outcomes)
      for (const Machine& machine : outcome.machines)
        cells[text_of(machine)] += fmt::format(" {}/{}", encoding, seed);
  }
  if (cells.size() == 1) fmt::print("Made with {}.\n", cells.begin()->first);
  if (cells.size() <= 1) return;
  fmt::print("Made in {} ways, so that processor times of different ones do not compare:\n",
             cells.size());
  for (const auto& [machine, names] : cells) fmt::print("    {}:{}\n", machine, names);
}

}  // namespace

int print_results(const RunArguments& arguments) {
  const Experiment experiment = load_experiment(arguments.experiment);
  std::map<std::string, Outcomes> results;
  const std::vector<Cell> cells = cells_of(
      experiment, {.preset = arguments.preset, .only = arguments.only, .seeds = arguments.seeds});
  for (const Cell& cell : cells) {
    const std::string folder = (std::filesystem::path(arguments.runs) / folder_of(cell)).string();
    auto outcome = read_outcome(folder);
    if (!outcome) continue;
    add_bleu(*outcome, folder);
    results[cell.name].emplace(cell.seed, *std::move(outcome));
  }
  fmt::print("{}\nmirrors: {}\n\n", experiment.title, experiment.mirrors);
  print_table(results);
  fmt::print("\nLosses at equal steps: speed of convergence, not final quality.\n");
  print_machines(results);
  for (const Claim& claim : experiment.claims) print_claim(claim, results);
  print_bleu_comparisons(experiment, cells, arguments.runs);
  return 0;
}

}  // namespace rotary::lab
