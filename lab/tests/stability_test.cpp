// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "lab/runs/step_series.hpp"

namespace rotary::lab {
namespace {

TEST(StepSeries, ASpikeIsSevenDeviationsAboveEarlierValues) {
  std::vector<double> values;
  for (int n = 0; n < 100; ++n) values.push_back(n % 2 == 0 ? 1.9 : 2.1);  // deviation 0.1
  EXPECT_EQ(spike_share(values, 20), 0);
  values[60] = 2 + 0.69;
  EXPECT_EQ(spike_share(values, 20), 0);
  values[60] = 2 + 0.71;
  EXPECT_DOUBLE_EQ(spike_share(values, 20), 0.01);
  // Downward jumps do not count, nor do values with fewer than ten previous values.
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

TEST(StepSeries, ATrainingDivergesIfItEndsFarAboveItsLeastLoss) {
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

}  // namespace
}  // namespace rotary::lab
