// SPDX-License-Identifier: Apache-2.0
// Tiny cells trained whole: that the loss falls, repeats, and survives interruption.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lab/data/dataset.hpp"
#include "lab/data/grammar.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/tests/temporary_folder.hpp"
#include "lab/tests/tiny.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {
namespace {

const Dataset& small_data() {
  static const Dataset data = [] {
    GrammarText made = generate_text(5, 60'000);
    return split({.name = "small", .documents = std::move(made.documents)}, made.text);
  }();
  return data;
}

// The columns of a log that do not depend on the clock: step, tokens, both losses and the rate.
std::vector<std::string> losses_of(const RunDirectory& directory) {
  std::vector<std::string> rows;
  std::istringstream log(read_text(directory.path() + "/log.csv"));
  for (std::string line; std::getline(log, line);) {
    std::size_t end = 0;
    for (int comma = 0; comma < 5; ++comma) end = line.find(',', end) + 1;
    rows.push_back(line.substr(0, end));
  }
  return rows;
}

class Training : public testing::Test {
 protected:
  Training() { set_threads(1); }

  RunDirectory claim(const std::string& root, const Cell& cell) {
    return *RunDirectory::claim(folder_ / root, cell);
  }
  TemporaryFolder folder_;
};

class EveryEncoding : public testing::TestWithParam<const char*> {
 protected:
  EveryEncoding() { set_threads(1); }
};

bool is_plain_rotary(const Encoding& encoding) {
  const auto* rotary = std::get_if<RotaryEncoding>(&encoding.kind);
  return rotary != nullptr && std::holds_alternative<NoScaling>(rotary->spec.scaling);
}

TEST_P(EveryEncoding, LearnsAndStaysFinite) {
  const TemporaryFolder folder;
  for (const Cell& cell : tiny_cells(GetParam())) {
    SCOPED_TRACE(cell.encoding.name);
    RunDirectory directory = *RunDirectory::claim(folder.path(), cell);
    const auto outcome = train_cell(cell, small_data(), directory, {});
    ASSERT_TRUE(outcome.has_value());
    // 256 bytes in equal parts are ln 256 nats.
    EXPECT_LT(outcome->validation_loss, std::log(256.0) - 1);
    EXPECT_GT(outcome->validation_loss, 0.5);
    ASSERT_GE(outcome->lengths.size(), 2U);
    EXPECT_EQ(outcome->lengths[0].loss, outcome->validation_loss);
    EXPECT_EQ(outcome->lengths[1].loss.has_value(), cell.encoding.name != "learned");
    const Measure stretched{.encoding = "rope", .multiple = 2, .rule = "yarn"};
    EXPECT_EQ(value_of(*outcome, stretched).has_value(), is_plain_rotary(cell.encoding));
    EXPECT_TRUE(directory.finished());
    EXPECT_EQ(losses_of(directory).size(), 4U);
  }
}
INSTANTIATE_TEST_SUITE_P(Tasks, EveryEncoding, testing::Values("causal_lm", "masked_lm"),
                         [](const auto& task) { return std::string(task.param); });

TEST_F(Training, SameSeedSameLossesAndAnotherSeedOthers) {
  Cell cell = tiny_cells("causal_lm", {"rope"})[0];
  RunDirectory one = claim("one", cell);
  RunDirectory again = claim("again", cell);
  (void)train_cell(cell, small_data(), one, {});
  (void)train_cell(cell, small_data(), again, {});
  EXPECT_EQ(losses_of(one), losses_of(again));
  cell.seed = 2;
  RunDirectory other = claim("other", cell);
  (void)train_cell(cell, small_data(), other, {});
  EXPECT_NE(losses_of(one), losses_of(other));
}

TEST_F(Training, GoesOnBitForBitAfterAnyStep) {
  for (const char* name : {"rope", "t5", "shaw", "learned"}) {
    SCOPED_TRACE(name);
    const Cell cell = tiny_cells("causal_lm", {name})[0];
    const std::string of_name = std::string("/") + name;
    RunDirectory whole = claim("whole" + of_name, cell);
    const auto expected = train_cell(cell, small_data(), whole, {});
    for (const std::int64_t stop : {1, 10, 29}) {
      RunDirectory parts = claim("parts" + of_name + std::to_string(stop), cell);
      const TrainOptions stopping{.stops = [&](std::int64_t step) { return step == stop; }};
      EXPECT_FALSE(train_cell(cell, small_data(), parts, stopping).has_value());
      EXPECT_FALSE(parts.finished());
      // Rows that a killed process wrote after its checkpoint.
      write_text(parts.path() + "/log.csv", "30,999,0.1,0.", std::ios::app);
      const auto outcome = train_cell(cell, small_data(), parts, {});
      ASSERT_TRUE(outcome.has_value());
      EXPECT_EQ(losses_of(parts), losses_of(whole)) << "stopped after step " << stop;
      EXPECT_EQ(outcome->validation_loss, expected->validation_loss);
    }
  }
}

TEST_F(Training, StretchingChangesLongSequencesAndLeavesNothingBehind) {
  const Cell cell = tiny_cells("causal_lm", {"rope"})[0];
  RunDirectory directory = claim("stretched", cell);
  const auto outcome = train_cell(cell, small_data(), directory, {});
  ASSERT_EQ(outcome->lengths.size(), 4U);
  const auto loss = [&](const char* rule) {
    return value_of(*outcome, {.encoding = "rope", .multiple = 2, .rule = rule}).value();
  };
  EXPECT_NE(loss("linear"), loss(""));
  EXPECT_NE(loss("yarn"), loss(""));
  EXPECT_NE(loss("yarn"), loss("linear"));
  // Measured before and after the others.
  EXPECT_EQ(outcome->lengths[0].loss, outcome->validation_loss);
}

TEST_F(Training, EncodingsShareTheirFirstLoss) {
  // Before the first update nothing but positions tells two models apart, and those hardly.
  std::vector<double> first;
  for (const Cell& cell : tiny_cells("causal_lm", {"none", "rope", "alibi"}, 1)) {
    RunDirectory directory = claim("first", cell);
    const TrainOptions options{
        .on_progress = [&](const Progress& progress) { first.push_back(progress.train_loss); }};
    (void)train_cell(cell, small_data(), directory, options);
  }
  ASSERT_EQ(first.size(), 3U);
  EXPECT_NEAR(first[0], first[1], 1e-3);
  EXPECT_NEAR(first[0], first[2], 1e-3);
}

}  // namespace
}  // namespace rotary::lab
