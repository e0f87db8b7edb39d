// SPDX-License-Identifier: Apache-2.0
// Results: what the finished cells of an experiment's preset say, as values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/experiment/experiment.hpp"
#include "lab/results/interval.hpp"
#include "lab/results/verdict.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {

// A finished cell.
struct CellResult {
  std::uint64_t seed = 0;
  Outcome outcome;
  std::vector<LogRow> curve;  // empty where costs are measured
  nlohmann::json config;      // config.json
};

struct ArmResult {
  std::string name;
  std::string family;  // of arms with the same encoding and other learning rates; "": none
  std::vector<CellResult> cells;  // by seed, at least one
};

struct Gap {
  std::uint64_t seed = 0;
  double lower = 0;
  double higher = 0;
};

struct ClaimResult {
  Claim claim;
  // The arms it was judged by: of a family the one with the best learning rate.
  std::string lower_arm = {};
  std::string higher_arm = {};
  std::vector<Gap> gaps = {};  // of the seeds that both have
  std::optional<Interval> interval = {};
  bool over_windows = false;  // the interval: over the windows of the one seed, not over seeds
  Verdict verdict = Verdict::not_run;
};

struct Results {
  const Experiment* experiment = nullptr;
  std::string preset;
  std::vector<ArmResult> arms = {};  // those with finished cells, in the preset's order
  std::size_t cells_of_preset = 0;
  std::vector<ClaimResult> claims = {};
  std::vector<std::string> remarks = {};  // what makes numbers of this comparison not comparable
};

struct ResultsFilter {
  std::string preset;
  std::string runs;                       // a folder
  std::vector<std::string> only = {};     // arms or families; empty: all
  std::vector<std::uint64_t> seeds = {};  // empty: all that there are
  // Adds to an outcome what only the texts in its folder tell: BLEU. May be empty.
  std::function<void(Outcome& outcome, const std::string& folder)> complete = {};
};

// By its name, or that of its family.
[[nodiscard]] bool is_called(const Arm& arm, const std::string& name);

// The experiment must outlive what is returned.
[[nodiscard]] Results collect_results(const Experiment& experiment, const ResultsFilter& filter);

// All that worked on the cells, in words, each once.
[[nodiscard]] std::vector<std::string> machines_of(const Results& results);

}  // namespace rotary::lab
