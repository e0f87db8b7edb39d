// SPDX-License-Identifier: Apache-2.0
// The verdict of finished cells on a claim: that one measure is below another by at least a margin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/experiment/experiment.hpp"
#include "lab/experiment/statistics.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {

enum class Verdict { confirmed, not_visible, contradicted, not_run };

// "confirmed", "not visible at this scale", "contradicted", "not run".
[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

// gaps: for each seed, the measure that should be higher minus the one that should be lower.
// interval: of their mean, if there is one.
//
// A margin above 0 is the least effect that counts: confirmed if every gap is at least the margin
// and the interval is above 0; contradicted if every gap is at most -margin, the opposite effect,
// and the interval is below 0. A margin below 0 is a difference that is still as good: confirmed if
// every gap and the interval are at least the margin, contradicted if all of them are below it.
[[nodiscard]] Verdict judge(std::span<const double> gaps, const std::optional<Interval>& interval,
                            double margin) noexcept;

// Results: what the finished cells of an experiment's preset say, as values.
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

// A paper's printed numbers beside those that the cells reached. Sizes differ by orders of
// magnitude, so differences are compared.

struct PublishedRow {
  Measure measure;
  double published = 0;
  double published_difference = 0;  // to the table's first row; of perplexities in nats
  std::optional<double> ours = {};  // mean over seeds, in per cent where published in them; absent:
                                    // not run, or not measured
  std::optional<double> ours_difference = {};
};

[[nodiscard]] std::vector<PublishedRow> beside(const Results& results, const PublishedTable& table);

}  // namespace rotary::lab
