// SPDX-License-Identifier: Apache-2.0
#include "lab/experiment/experiment.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "apps/failure.hpp"
#include "lab/encodings/encoding.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/tests/tiny.hpp"

namespace rotary::lab {
namespace {

using nlohmann::json;

std::string parse_failure(const std::string& text) {
  return failure_of([&] { return parse_experiment(text, "e.json"); });
}

TEST(Experiment, ReadsPresetsAndArms) {
  const Experiment experiment = parse_experiment(tiny_json("masked_lm"), "e.json");
  const Preset& quick = find_preset(experiment, "quick");
  ASSERT_EQ(quick.arms.size(), named_encodings().size());
  EXPECT_EQ(quick.arms[0].model.task, Task::masked_lm);
  EXPECT_EQ(quick.arms[0].model.head_dim(), 16);
  EXPECT_EQ(quick.arms[0].training.evaluate_lengths.size(), 2U);
  EXPECT_THROW((void)find_preset(experiment, "fast"), cli::Failure);
}

TEST(Experiment, RefusesAndNamesInvalidSettings) {
  const std::string good = tiny_json("causal_lm");
  EXPECT_EQ(parse_failure(replaced(good, "\"steps\": 30", "\"steps\": 0")),
            "e.json: presets: quick: training: steps must be a whole number from 1 to 2^53, got 0");
  EXPECT_EQ(parse_failure(replaced(good, "\"batch\": 8", "\"batch\": 8, \"bacth\": 9")),
            "e.json: presets: quick: training: the key 'bacth' has no meaning here");
  EXPECT_EQ(parse_failure(replaced(good, "\"heads\": 2", "\"heads\": 3")),
            "e.json: presets: quick: model: d_model / heads must be an even number, got 32 / 3");
  EXPECT_EQ(parse_failure(replaced(good, "[1, 2]", "[2, 3]")),
            "e.json: presets: quick: training: evaluate_lengths must divide the longest, 3, got 2");
  EXPECT_EQ(parse_failure(replaced(good, "causal_lm", "poetry")),
            "e.json: task must be one of causal_lm, masked_lm, translation, triplets, sections, "
            "same_document, similarity, copy, reverse, addition, got 'poetry'");
  EXPECT_EQ(parse_failure(replaced(good, "\"batch\": 8", "\"batch\": 8, \"pair_rows\": 4")),
            "e.json: presets: quick: none: pair_rows needs a rotary encoding without xpos, in a "
            "causal_lm with softmax");
  EXPECT_EQ(
      parse_failure(
          replaced(good, "\"rope\",", R"({"name": "r", "like": "rope", "model": {"tokens": 0}},)")),
      "e.json: presets: quick: r: model: tokens must be a whole number from 2 to 2^53, got 0");
  EXPECT_TRUE(has(parse_failure(replaced(good, "\"rope\"", "\"ropes\"")), "got 'ropes'"));
  EXPECT_TRUE(has(parse_failure(replaced(good, "\"rope\",", "\"rope\", \"rope\",")), "rope twice"));
  EXPECT_TRUE(has(parse_failure("{"), "e.json must be JSON"));
  const auto failure_with = [&](const std::string& old, const std::string& more) {
    return parse_failure(replaced(good, old, old + ", " + more));
  };
  EXPECT_TRUE(has(failure_with("\"tokens\": 32", R"("attention": "linear")"),
                  "linear attention has no scores for shaw to act on"));
  EXPECT_TRUE(has(failure_with("\"seeds\": [1]", R"("learning_rates": [0])"),
                  "learning_rates must be numbers above 0, got 0"));
  EXPECT_TRUE(has(failure_with("\"batch\": 8", R"("evaluate_unit": 8)"),
                  "must hold the trained length, 32 tokens"));
  EXPECT_EQ(failure_with("\"batch\": 8", R"("evaluate_unit": 16)"), "nothing failed");
}

TEST(Experiment, AnArmReplacesThePresetsSettings) {
  const std::string arm = R"({"name": "long", "like": "rope", "model": {"tokens": 64},
    "training": {"batch": 4}, "seeds": [7], "start": {"experiment": "e2", "encoding": "rope"}},)";
  const Experiment experiment =
      parse_experiment(replaced(tiny_json("causal_lm"), "\"rope\",", arm), "e.json");
  const auto cells = cells_of(experiment, {.preset = "quick", .only = {"long"}, .seeds = {}});
  ASSERT_EQ(cells.size(), 1U);
  EXPECT_EQ(cells[0].model.tokens, 64);
  EXPECT_EQ(cells[0].model.d_model, 32);
  EXPECT_EQ(cells[0].training.batch, 4);
  EXPECT_EQ(cells[0].training.steps, 30);
  EXPECT_EQ(cells[0].encoding.name, "long");
  EXPECT_EQ(folder_of(cells[0]), "tiny-quick/long/seed-7");
  EXPECT_EQ(start_folder_of(cells[0]), "e2-quick/rope/seed-7");
  // The arm's own seed replaces the preset's single seed, so each arm has one cell.
  const auto all = cells_of(experiment, {.preset = "quick", .only = {}, .seeds = {}});
  EXPECT_EQ(all.size(), find_preset(experiment, "quick").arms.size());
}

TEST(Encoding, TakesItsSettingsFromTheExperiment) {
  const json entry = json::parse(R"({"name": "rope-500k", "like": "rope", "base": 500000})");
  const Encoding encoding = parse_encoding(encoding_settings(entry), 16);
  EXPECT_EQ(encoding.name, "rope-500k");
  EXPECT_EQ(std::get<RotaryEncoding>(encoding.kind).spec.base.get(), 500000);
  // Changed settings need a new name.
  EXPECT_THROW((void)encoding_settings(json::parse(R"({"like": "rope", "base": 5})")),
               cli::Failure);
}

TEST(Encoding, RefusesUnknownSettings) {
  const auto message = [](const char* text) {
    return failure_of([&] { return parse_encoding(encoding_settings(json::parse(text)), 16); });
  };
  EXPECT_EQ(message(R"({"name": "x", "like": "alibi", "base": 5})"),
            "encoding x: the key 'base' has no meaning here");
  EXPECT_TRUE(has(message(R"({"name": "x", "like": "rope", "base": 0.5})"), "base"));
  EXPECT_TRUE(has(message(R"({"name": "x", "like": "rope", "scaling": {"rope_type": "linaer"}})"),
                  "linaer"));
}

TEST(Cell, FirstDifferenceOfConfigurationsIsNamed) {
  auto cells = tiny_cells("causal_lm");
  EXPECT_EQ(folder_of(cells[0]), "tiny-quick/none/seed-1");
  EXPECT_EQ(difference(config_of(cells[0]), config_of(cells[0])), "");
  Cell other = cells[0];
  other.training.steps = 31;
  EXPECT_EQ(difference(config_of(cells[0]), config_of(other)),
            "training.steps must be 30 as when the run began, got 31");
  other = cells[0];
  other.data_sha256 = "0";
  EXPECT_EQ(difference(config_of(cells[0]), config_of(other)),
            "data.sha256 must be \"\" as when the run began, got \"0\"");
}

TEST(Schedule, LearningRateRisesThenFallsToTheFinalFraction) {
  const TrainingConfig training{
      .steps = 100, .learning_rate = 2, .warmup_steps = 9, .final_fraction = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate_at(training, 0), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_at(training, 9), 2);
  EXPECT_NEAR(learning_rate_at(training, 100), 0.2, 1e-15);
  EXPECT_GT(learning_rate_at(training, 50), learning_rate_at(training, 51));
}

}  // namespace
}  // namespace rotary::lab
