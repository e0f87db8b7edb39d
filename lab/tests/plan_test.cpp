// SPDX-License-Identifier: Apache-2.0
// Decisions before training: experiments and their order, learning rates, budgets, data, sizes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/failure.hpp"
#include "lab/encodings/encoding.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiments.hpp"
#include "lab/runs/budget.hpp"
#include "lab/tests/temporary_folder.hpp"
#include "lab/tests/tiny.hpp"
#include "lab/torch/measure_cost.hpp"
#include "rotary/frequencies.hpp"

namespace rotary::lab {
namespace {

// An experiment. With starts_from, its arm "tuned" starts from that experiment's arm "rope".
std::string experiment_json(std::string_view name, std::string_view starts_from) {
  const std::string start = starts_from.empty()
                                ? ""
                                : fmt::format(R"({{"name": "tuned", "like": "rope", "scaling":
                              {{"rope_type": "linear", "factor": 2.0}}, "start": {{"experiment":
                              "{}", "encoding": "rope"}}}}, )",
                                              starts_from);
  return replaced(replaced(tiny_json("causal_lm"), "\"tiny\"", fmt::format("\"{}\"", name)),
                  "\"none\"", start + "\"none\"");
}

TEST(Experiments, FollowTheirStartsAndAreOtherwiseSortedByName) {
  const ScratchFolder folder;
  write_text(folder / "a.json", experiment_json("a", "c"));
  write_text(folder / "b.json", experiment_json("b", ""));
  write_text(folder / "c.json", experiment_json("c", ""));
  write_text(folder / "notes.txt", "no experiment");
  const std::string path = folder / "";
  const auto names = [&](const std::vector<std::string>& asked, const char* preset = "quick") {
    std::string all;
    for (const Experiment& each :
         load_experiments({.folder = path, .asked = asked, .preset = preset}))
      all += each.name;
    return all;
  };
  EXPECT_EQ(names({}), "bca");
  EXPECT_EQ(names({"c", folder / "b.json"}), "cb");
  EXPECT_EQ(failure_of([&] { return names({}, "huge"); }),
            fmt::format("--preset must be one that an experiment of {} has, got 'huge'", path));
  EXPECT_TRUE(has(failure_of([&] { return names({"b"}, "huge"); }), "must be one of quick"));
  write_text(folder / "c.json", experiment_json("c", "a"));
  EXPECT_TRUE(has(failure_of([&] { return names({}); }), "must not start from"));
}

TEST(Experiments, AreLoadedFromTheSourceTree) {
  EXPECT_GE(
      load_experiments({.folder = experiments_folder(), .asked = {}, .preset = "full"}).size(), 3U);
}

TEST(Experiment, MakesAnArmForEachLearningRateInOneFamily) {
  const Experiment experiment =
      parse_experiment(replaced(tiny_json("causal_lm"), "\"seeds\"",
                                "\"learning_rates\": [0.001, 0.004], \"seeds\""),
                       "e.json");
  const auto cells = cells_of(
      experiment, {.preset = "quick", .only = {"rope-lr-0.001", "rope-lr-0.004"}, .seeds = {}});
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].training.learning_rate, 0.001);
  EXPECT_EQ(cells[1].training.learning_rate, 0.004);
  EXPECT_EQ(folder_of(cells[1]), "tiny-quick/rope-lr-0.004/seed-1");
  for (const Arm& arm : find_preset(experiment, "quick").arms)
    EXPECT_TRUE(arm.name.starts_with(arm.family + "-lr-")) << arm.name;
}

TEST(Rescaling, AppliesEachRule) {
  const auto cells = tiny_cells("causal_lm", {"rope"});
  const RotarySpec& rope = std::get<RotaryEncoding>(cells[0].encoding.kind).spec;
  const Stretch stretch{.factor = 4, .tokens = 32};
  const auto slowest = [&](std::string_view rule) {
    return make_frequencies(rescaled(rope, rule, stretch), 128)->inv_freq.back();
  };
  const double plain = slowest("");
  EXPECT_DOUBLE_EQ(slowest("linear"), plain / 4);
  // The slowest pair becomes alpha times slower: 4 for ntk, 2 · 4 - 1 for dynamic.
  EXPECT_NEAR(plain / slowest("ntk"), 4, 1e-9);
  EXPECT_NEAR(plain / slowest("dynamic"), 7, 1e-9);
  EXPECT_NEAR(plain / slowest("yarn"), 4, 1e-9);
  EXPECT_NEAR(slowest("abf") / plain, std::pow(50.0, -7.0 / 8), 1e-9);
  for (const std::string_view rule : rescaling_rules) EXPECT_TRUE(is_rescaling_rule(rule));
  EXPECT_FALSE(is_rescaling_rule("") || is_rescaling_rule("none"));
}

TEST(Duration, IsANumberOfSecondsMinutesOrHours) {
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("10m"), 600);
  EXPECT_EQ(parse_duration("1.5h"), 5400);
  for (const char* text : {"", "s", "90", "-1s", "0s", "1e3s", "1.2.3s", "9 s", "infs", "9d"}) {
    EXPECT_TRUE(has(failure_of([&] { return parse_duration(text); }), "such as 90s, 10m or 1.5h"))
        << text;
  }
}

TEST(Budget, ScalesAllStepsByOneFactor) {
  auto cells = tiny_cells("causal_lm", {"rope", "none"}, 100);
  const std::vector<CellTime> times = {{.steps_s = 60, .fixed_s = 5},
                                       {.steps_s = 40, .fixed_s = 5}};
  const Budget half = make_budget(60, cells, times);
  EXPECT_DOUBLE_EQ(half.scale, 0.5);
  EXPECT_EQ(make_budget(1000, cells, times).scale, 1);
  for (Cell& cell : cells) scale_training(cell.training, half.scale);
  EXPECT_EQ(cells[0].training.steps, 50);
  EXPECT_EQ(cells[0].training.warmup_steps, 3);
  EXPECT_EQ(cells[0].training.validate_every, 5);
  // The minimum is 20 of 50 steps.
  EXPECT_EQ(failure_of([&] { return make_budget(20, cells, times); }),
            "--budget must leave every cell 20 steps, which takes 50 s of processor time for the 2 "
            "cells, 10 s of them for validation; got 20 s");
}

TEST(Budget, LeavesCostMeasurementsAlone) {
  auto cells = tiny_cells("causal_lm", {"rope", "none"}, 4);
  cells[1].training.cost_lengths = {16};
  const std::vector<CellTime> times = {{.steps_s = 10, .fixed_s = 0}, {.steps_s = 0, .fixed_s = 5}};
  EXPECT_EQ(make_budget(15, cells, times).scale, 1);
  // Four steps are already fewer than 20, so none can be removed.
  EXPECT_TRUE(has(failure_of([&] { return make_budget(14, cells, times); }), "--budget must"));
  scale_training(cells[1].training, 0.5);
  EXPECT_EQ(cells[1].training.steps, 4);
}

TEST(Budget, KeepsTheFirstBudgetOfTheCells) {
  const ScratchFolder folder;
  const auto cells = tiny_cells("causal_lm", {"rope"});
  EXPECT_FALSE(read_budget(folder / "runs", cells[0]));
  EXPECT_FALSE(began_without_budget(folder / "runs", cells[0]));
  write_budget(folder / "runs", cells, {.seconds = 90, .scale = 1.0 / 3});
  write_budget(folder / "runs", cells, {.seconds = 10, .scale = 0.1});
  const auto budget = read_budget(folder / "runs", cells[0]);
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->seconds, 90);
  EXPECT_EQ(budget->scale, 1.0 / 3);
  EXPECT_FALSE(began_without_budget(folder / "runs", cells[0]));
  std::filesystem::create_directories(folder / "other/tiny-quick/rope");
  EXPECT_TRUE(began_without_budget(folder / "other", cells[0]));
  write_text(folder / "runs/tiny-quick/budget.json",
             R"({"schema_version": 1, "seconds": 9, "scale": 0})");
  EXPECT_TRUE(has(failure_of([&] { return read_budget(folder / "runs", cells[0]); }),
                  "scale must be in (0, 1], got 0"));
}

TEST(CellTime, CountsAllStepsAndTheValidationOfACostMeasurement) {
  const ProbedTimes probed{.step_s = 1, .validation_s = 100};
  auto cells = tiny_cells("causal_lm", {"none", "rope"}, 4);
  for (Cell& cell : cells) cell.training.cost_lengths = {cell.model.tokens};
  // A training, then each model's steps after a warm-up; the second model has no positions.
  EXPECT_EQ(time_of(cells[0], probed).fixed_s, 4 + (1 + 4) + 100);
  EXPECT_EQ(time_of(cells[1], probed).fixed_s, 4 + 2 * (1 + 4) + 100);
}

TEST(CellSize, EqualsTheFormulaAndGrowsWithTheLayers) {
  auto cells = tiny_cells("causal_lm", {"rope"});
  // Per token, two layers have 12 · 32² products for weights and 2 · 32 · 32 for scores and sums.
  // Logits have 256 · 32. A product is two operations; a step does it three times for 256 tokens.
  EXPECT_DOUBLE_EQ(flops_of_step(cells[0]),
                   3.0 * 2 * (2 * (12 * 1024 + 2 * 1024) + 256 * 32) * 256);
  const double bytes = bytes_of_training(cells[0]);
  cells[0].model.layers = 4;
  EXPECT_GT(bytes_of_training(cells[0]), bytes + 16.0 * 2 * 12 * 1024);
}

}  // namespace
}  // namespace rotary::lab
