// SPDX-License-Identifier: Apache-2.0
// Tiny trainings: the loss falls, and an interruption changes no bit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "apps/failure.hpp"
#include "lab/data/dataset.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/tests/temporary_folder.hpp"
#include "lab/tests/tiny.hpp"
#include "lab/torch/begin_with.hpp"
#include "lab/torch/learner.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {
namespace {

class Training : public Trained {};
class EveryEncoding : public Trained, public testing::WithParamInterface<const char*> {};

// The loss at twice the trained length, under a rescaling rule.
std::optional<double> doubled_loss(const Outcome& outcome, std::string_view rule) {
  for (const LengthLoss& length : outcome.lengths) {
    if (length.multiple == 2 && length.rule == rule) return length.loss;
  }
  return std::nullopt;
}

bool is_plain_rotary(const Encoding& encoding) {
  const auto* rotary = std::get_if<RotaryEncoding>(&encoding.kind);
  return rotary != nullptr && std::holds_alternative<NoScaling>(rotary->spec.scaling);
}

TEST_P(EveryEncoding, LearnsAndStaysFinite) {
  for (const Cell& cell : tiny_cells(GetParam())) {
    SCOPED_TRACE(cell.encoding.name);
    const Outcome outcome = train("learns", cell, small_data());
    // Uniform over 256 bytes would be ln 256 nats.
    EXPECT_LT(outcome.validation_loss, std::log(256.0) - 1);
    EXPECT_GT(outcome.validation_loss, 0.5);
    ASSERT_GE(outcome.lengths.size(), 2U);
    EXPECT_EQ(outcome.lengths[0].loss, outcome.validation_loss);
    EXPECT_EQ(outcome.lengths[1].loss.has_value(), cell.encoding.name != "learned");
    EXPECT_EQ(doubled_loss(outcome, "yarn").has_value(), is_plain_rotary(cell.encoding));
    if (is_plain_rotary(cell.encoding)) {
      EXPECT_NE(doubled_loss(outcome, "yarn"), doubled_loss(outcome, "linear"));
      EXPECT_NE(doubled_loss(outcome, "yarn"), doubled_loss(outcome, ""));
    }
    EXPECT_TRUE(claim("learns", cell).finished());
    const auto log = losses_of(folder_ / ("learns/" + folder_of(cell)));
    EXPECT_EQ(log.size(), 4U);
    // Nine digits restore a float.
    EXPECT_TRUE(has(log.back(), fmt::format(",{:.9g},", outcome.validation_loss)));
  }
}
INSTANTIATE_TEST_SUITE_P(Tasks, EveryEncoding, testing::Values("causal_lm", "masked_lm"),
                         [](const auto& task) { return std::string(task.param); });

TEST_F(Training, ContinuesBitForBitAfterAStop) {
  for (const char* name : {"rope", "t5", "shaw", "learned"}) {
    SCOPED_TRACE(name);
    const Cell cell = tiny_cells("causal_lm", {name})[0];
    const std::string of_name = std::string("/") + name;
    const Outcome expected = train("whole" + of_name, cell, small_data());
    const auto losses = losses_of(claim("whole" + of_name, cell).path());
    for (const std::int64_t stop : {1, 10, 29}) {
      RunDirectory parts = claim("parts" + of_name + std::to_string(stop), cell);
      const TrainOptions stopping{.stops = [&](std::int64_t step) { return step == stop; }};
      EXPECT_FALSE(train_cell(cell, small_data(), parts, stopping).has_value());
      EXPECT_FALSE(parts.finished());
      // Adds part of a row, as if the process had been killed after its checkpoint.
      write_text(parts.path() + "/log.csv", "30,999,0.1,0.", std::ios::app);
      const auto outcome = train_cell(cell, small_data(), parts, {});
      ASSERT_TRUE(outcome.has_value());
      EXPECT_EQ(losses_of(parts.path()), losses) << "stopped after step " << stop;
      EXPECT_EQ(outcome->validation_loss, expected.validation_loss);
      std::filesystem::resize_file(parts.path() + "/log.csv", 10);
      EXPECT_TRUE(has(failure_of([&] { return train_cell(cell, small_data(), parts, {}); }),
                      "bytes that its checkpoint records"));
    }
  }
}

TEST_F(Training, WatchedStepsAreMeasuredAcrossAnInterruption) {
  Cell cell = tiny_cells("causal_lm", {"rope"})[0];
  cell.training.spike_window = 8;
  const Outcome expected = train("whole", cell, small_data());
  EXPECT_EQ(expected.metrics.at("diverged"), 0);
  EXPECT_GT(expected.metrics.at("largest_gradient_norm"), expected.metrics.at("gradient_norm"));
  EXPECT_GT(expected.metrics.at("gradient_norm"), 0);
  RunDirectory parts = claim("parts", cell);
  const TrainOptions stopping{.stops = [](std::int64_t step) { return step == 17; }};
  EXPECT_FALSE(train_cell(cell, small_data(), parts, stopping).has_value());
  EXPECT_EQ(train_cell(cell, small_data(), parts, {})->metrics, expected.metrics);
}

TEST_F(Training, ADivergenceIsNoFailureIfStepsAreWatched) {
  Cell cell = tiny_cells("causal_lm", {"rope"})[0];
  cell.training.spike_window = 8;
  cell.training.learning_rate = 1e30;
  const Outcome outcome = train("broken", cell, small_data());
  EXPECT_EQ(outcome.metrics.at("diverged"), 1);
  EXPECT_LT(outcome.steps, cell.training.steps);
  EXPECT_EQ(outcome.validation_loss, std::log(256.0));
  EXPECT_TRUE(claim("broken", cell).finished());
  cell.training.spike_window = 0;
  RunDirectory failing = claim("failing", cell);
  EXPECT_THROW((void)train_cell(cell, small_data(), failing, {}), cli::Failure);
  EXPECT_FALSE(failing.finished());
}

// The loss of a finished model whose one rotary layer gets other frequencies.
double loss_with(const Cell& cell, const std::string& checkpoint, std::vector<double> inv_freq) {
  Cell other = cell;
  auto& spec = std::get<RotaryEncoding>(other.encoding.kind).spec;
  spec.scaling = ExplicitScaling{.inv_freq = std::move(inv_freq)};
  const auto learner = make_learner(other, small_data());
  begin_with(learner->model(), checkpoint);
  return learner->validation_loss();
}

TEST_F(Training, AnUnrotatedPairRaisesTheLossAsMuchAsFrequencyZero) {
  Cell cell = tiny_cells("causal_lm", {"rope"})[0];
  cell.model.layers = 1;
  cell.training.evaluate_lengths = {1};
  cell.training.pair_rows = cell.training.validation_rows;
  const Outcome outcome = train("pairs", cell, small_data());
  const std::string checkpoint = claim("pairs", cell).checkpoint();
  ASSERT_EQ(outcome.pairs.size(), 8U);
  std::vector<double> inv_freq;
  for (const PairInfluence& pair : outcome.pairs) inv_freq.push_back(pair.inv_freq);
  EXPECT_EQ(inv_freq[0], 1);
  double energy = 0;
  for (std::size_t pair = 0; pair < inv_freq.size(); ++pair) {
    std::vector<double> stopped = inv_freq;
    stopped[pair] = 0;
    const PairInfluence& influence = outcome.pairs[pair];
    EXPECT_NEAR(influence.loss_unturned,
                loss_with(cell, checkpoint, stopped) - outcome.validation_loss, 1e-6);
    EXPECT_NE(influence.loss_removed, 0);
    energy += influence.q_energy + influence.k_energy;
  }
  EXPECT_GT(energy, 0);
  const auto& metrics = outcome.metrics;
  EXPECT_NEAR(metrics.at("fast_energy") + metrics.at("slow_energy"), 1, 1e-12);
}

TEST_F(Training, PairsThatMoveHaveTheInfluenceOfPairsThatStay) {
  Cell cell = tiny_cells("causal_lm", {"rope"})[0];
  auto& pairing = std::get<RotaryEncoding>(cell.encoding.kind).spec.pairing;
  pairing = Pairing::interleaved;
  cell.training.pair_rows = cell.training.validation_rows;
  const Outcome stays = train("pairs", cell, small_data());
  const RunDirectory directory = claim("pairs", cell);
  pairing = Pairing::interleaved_to_half;
  const auto learner = make_learner(cell, small_data());
  begin_with(learner->model(), directory.checkpoint());
  Outcome moves;
  learner->examine(moves, directory);
  ASSERT_EQ(moves.pairs.size(), stays.pairs.size());
  // Scores add the same products in another order.
  for (std::size_t pair = 0; pair < moves.pairs.size(); ++pair)
    EXPECT_NEAR(moves.pairs[pair].loss_removed, stays.pairs[pair].loss_removed, 1e-6);
}

TEST_F(Training, EncodingsShareTheirFirstLossApproximately) {
  // Before the first update, models differ only by positions, which hardly matter yet.
  std::vector<double> first;
  for (const Cell& cell : tiny_cells("causal_lm", {"none", "rope", "alibi"}, 1)) {
    (void)train("first", cell, small_data(), {.on_progress = [&](const Progress& progress) {
                  first.push_back(progress.train_loss);
                }});
  }
  ASSERT_EQ(first.size(), 3U);
  EXPECT_NEAR(first[0], first[1], 1e-3);
  EXPECT_NEAR(first[0], first[2], 1e-3);
}

}  // namespace
}  // namespace rotary::lab
