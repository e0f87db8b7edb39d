// SPDX-License-Identifier: Apache-2.0
#include "lab/commands/bleu_comparison.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lab/commands/progress.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiment.hpp"
#include "lab/process/program.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view metric = "bleu";

std::string file_of(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

std::string text_of(const BleuScore& score) {
  return fmt::format("{:.2f} ± {:.2f}", score.bleu, score.half_width);
}

// "rope 13.20 ± 0.90, sinusoidal 12.00 ± 0.80, p = 0.031": the first against the second. Whether
// there is a program to ask.
bool print_comparison(const Cell& cell, const Cell& base, const std::string& runs) {
  const std::string folder = file_of(runs, folder_of(cell));
  const std::string base_folder = file_of(runs, folder_of(base));
  if (!fs::exists(file_of(folder, hypotheses_name)) ||
      !fs::exists(file_of(base_folder, hypotheses_name))) {
    return true;
  }
  const std::array hypotheses = {file_of(base_folder, hypotheses_name),
                                 file_of(folder, hypotheses_name)};
  const auto compared = compare_bleu(file_of(folder, references_name), hypotheses);
  if (!compared) {
    print_answer("{}\n", sacrebleu_advice);
    return false;
  }
  print_answer("BLEU, seed {}: {} {}, {} {}, p = {:.3f} by paired bootstrap\n", cell.seed,
               cell.name, text_of(compared->at(1).score), base.name, text_of(compared->at(0).score),
               compared->at(1).p_value.value_or(1));
  return true;
}

}  // namespace

void add_bleu(Outcome& outcome, const std::string& folder) {
  const std::string hypotheses = file_of(folder, hypotheses_name);
  if (outcome.metrics.contains(std::string(metric)) || !fs::exists(hypotheses)) return;
  if (const auto score = score_bleu(file_of(folder, references_name), hypotheses))
    outcome.metrics.emplace(metric, score->bleu);
}

void print_bleu_comparisons(const Experiment& experiment, const std::vector<Cell>& cells,
                            const std::string& runs) {
  for (const Claim& claim : experiment.claims) {
    if (claim.higher.metric != metric || claim.lower.metric != metric) continue;
    for (const Cell& cell : cells) {
      if (cell.name != claim.higher.encoding) continue;
      for (const Cell& base : cells) {
        const bool is_pair = base.name == claim.lower.encoding && base.seed == cell.seed;
        if (is_pair && !print_comparison(cell, base, runs)) return;
      }
    }
  }
}

}  // namespace rotary::lab
