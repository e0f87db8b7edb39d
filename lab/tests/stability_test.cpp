// SPDX-License-Identifier: Apache-2.0
// Spikes, and what a family of learning rates says.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "lab/experiment/experiment.hpp"
#include "lab/results/measures.hpp"
#include "lab/results/results.hpp"
#include "lab/results/results_text.hpp"
#include "lab/runs/step_series.hpp"

namespace rotary::lab {
namespace {

TEST(StepSeries, ASpikeIsSevenDeviationsAboveWhatWasBefore) {
  std::vector<double> values;
  for (int n = 0; n < 100; ++n) values.push_back(n % 2 == 0 ? 1.9 : 2.1);  // deviation 0.1
  EXPECT_EQ(spike_share(values, 20), 0);
  values[60] = 2 + 0.69;
  EXPECT_EQ(spike_share(values, 20), 0);
  values[60] = 2 + 0.71;
  EXPECT_DOUBLE_EQ(spike_share(values, 20), 0.01);
  // Downwards is no spike, and neither is one with fewer than ten values before it.
  values[60] = -10;
  EXPECT_EQ(spike_share(values, 20), 0);
  values[60] = 2.1;
  values[9] = 100;
  EXPECT_EQ(spike_share(values, 20), 0);
  values[9] = 2.1;
  values[10] = 100;
  EXPECT_DOUBLE_EQ(spike_share(values, 20), 0.01);
  EXPECT_EQ(spike_share({}, 20), 0);
}

TEST(StepSeries, DivergesIfItEndsFarAboveItsLeastLoss) {
  const auto diverged = [](std::vector<double> validation) {
    return stability_metrics({.losses = {3, 2},
                              .gradient_norms = {1, 5},
                              .validation_losses = std::move(validation)},
                             4)
        .at("diverged");
  };
  EXPECT_EQ(diverged({3, 2, 2.4}), 0);
  EXPECT_EQ(diverged({3, 2, 2.6}), 1);
  EXPECT_EQ(diverged({}), 0);
  const auto metrics = stability_metrics(
      {.losses = {3, 2, 1}, .gradient_norms = {1, 5, 2}, .validation_losses = {}}, 4);
  EXPECT_EQ(metrics.at("gradient_norm"), 2);
  EXPECT_EQ(metrics.at("largest_gradient_norm"), 5);
  EXPECT_EQ(stability_metrics({}, 4).size(), 1U);
}

Experiment at_rates() {
  return parse_experiment(R"({"schema_version": 1, "name": "rates", "title": "Rates",
    "mirrors": "nothing", "task": "causal_lm",
    "presets": {"quick": {
      "model": {"d_model": 32, "layers": 1, "heads": 2, "tokens": 32},
      "training": {"steps": 9, "batch": 1, "learning_rate": 0.1, "warmup_steps": 0,
                   "validate_every": 9, "validation_rows": 8},
      "seeds": [1], "learning_rates": [0.1, 0.2, 0.4], "encodings": ["rope", "none"]}},
    "claims": [{"statement": "s", "lower": {"encoding": "rope", "metric": "sensitivity@rates"},
                "higher": {"encoding": "none", "metric": "sensitivity@rates"}, "margin": 0.1}]})",
                          "rates.json");
}

ArmResult arm_of(const std::string& family, const std::string& rate, double loss, double spikes) {
  CellResult cell{.seed = 1, .outcome = {}, .curve = {{.step = 9}}, .config = {}};
  cell.outcome.validation_loss = loss;
  cell.outcome.metrics["spikes"] = spikes;
  return {.name = family + "-lr-" + rate, .family = family, .cells = {std::move(cell)}};
}

TEST(Measures, OfAFamilyAreTakenOverItsLearningRates) {
  const Experiment experiment = at_rates();
  Results results{.experiment = &experiment, .preset = "quick"};
  results.arms = {arm_of("rope", "0.1", 2, 0.1), arm_of("rope", "0.2", 2.5, 0.2),
                  arm_of("rope", "0.4", 9, 0.6),  // worse than a model that knows nothing
                  arm_of("none", "0.1", 3, 0), arm_of("none", "0.2", 3, 0)};
  const auto value = [&](std::size_t arm, const char* metric) {
    return value_of(results, results.arms[arm].cells[0], {.encoding = "", .metric = metric});
  };
  EXPECT_NEAR(*value(0, "sensitivity@rates"), (2 + 2.5 + std::log(256.0)) / 3 - 2, 1e-12);
  EXPECT_NEAR(*value(2, "spikes@rates"), 0.3, 1e-12);
  // One rate of the other family is missing.
  EXPECT_FALSE(value(3, "sensitivity@rates"));
  EXPECT_EQ(judge_claim(results, experiment.claims[0]).verdict, Verdict::not_run);
  results.arms.push_back(arm_of("none", "0.4", 3, 0));
  const ClaimResult judged = judge_claim(results, experiment.claims[0]);
  EXPECT_EQ(judged.verdict, Verdict::contradicted);
  EXPECT_NEAR(judged.gaps.at(0).higher, 0, 1e-12);
}

TEST(Csv, HasALineForEachNumberOfEachCell) {
  const Experiment experiment = at_rates();
  Results results{.experiment = &experiment, .preset = "quick"};
  results.arms = {arm_of("rope", "0.1", 2.25, 0.1)};
  Outcome& outcome = results.arms[0].cells[0].outcome;
  outcome.lengths = {{.multiple = 1, .loss = 2.25, .last_quarter = 2.5},
                     {.multiple = 4, .rule = "yarn", .loss = 3}};
  EXPECT_EQ(measures_csv(results),
            "arm,family,seed,measure,value\n"
            "rope-lr-0.1,rope,1,steps,0\nrope-lr-0.1,rope,1,parameters,0\n"
            "rope-lr-0.1,rope,1,cpu_s,0\nrope-lr-0.1,rope,1,loss,2.25\n"
            "rope-lr-0.1,rope,1,last_quarter,2.5\nrope-lr-0.1,rope,1,loss 4x yarn,3\n"
            "rope-lr-0.1,rope,1,spikes,0.1\n");
  EXPECT_EQ(curves_csv(results), "arm,seed,step,training,validation\nrope-lr-0.1,1,9,0,0\n");
  EXPECT_EQ(pairs_csv(results), "");
  outcome.pairs = {{.layer = 1, .pair = 2, .inv_freq = 0.5, .loss_removed = 0.25}};
  EXPECT_EQ(pairs_csv(results),
            "arm,seed,layer,pair,inv_freq,q_energy,k_energy,loss_unturned,loss_removed,"
            "distance_removed\nrope-lr-0.1,1,1,2,0.5,0,0,0,0.25,0\n");
}

}  // namespace
}  // namespace rotary::lab
