// SPDX-License-Identifier: Apache-2.0
#include "lab/results/results.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "cli/failure.hpp"
#include "lab/data/batches.hpp"
#include "lab/experiment/statistics.hpp"
#include "lab/results/measures.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/tests/temporary_folder.hpp"

namespace rotary::lab {
namespace {

// The probability that Student's t with `freedom` degrees of freedom is beyond ±at: the density,
// integrated by Simpson's rule.
double beyond(double at, double freedom) {
  const double constant = std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2)) /
                          std::sqrt(freedom * std::acos(-1.0));
  const auto density = [&](double t) {
    return constant * std::pow(1 + t * t / freedom, -(freedom + 1) / 2);
  };
  constexpr int parts = 4000;
  const double width = at / parts;
  double sum = density(0) + density(at);
  for (int n = 1; n < parts; ++n) sum += (n % 2 == 1 ? 4 : 2) * density(n * width);
  return 1 - 2 * sum * width / 3;
}

TEST(Interval, OfStudentHasFivePerCentOutside) {
  for (std::size_t count = 2; count <= 31; ++count) {
    std::vector<double> values(count);
    for (std::size_t n = 0; n < count; ++n) values[n] = n % 3 == 0 ? 2.0 : 1.0;
    double mean = 0;
    for (const double value : values) mean += value / static_cast<double>(count);
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    const auto freedom = static_cast<double>(count - 1);
    const double error = std::sqrt(squares / freedom / static_cast<double>(count));
    const auto interval = t_interval(values);
    ASSERT_TRUE(interval);
    // The table has four decimals: of 12.7062 a relative 4e-6, of 0.05 as much.
    EXPECT_NEAR(beyond((interval->high - mean) / error, freedom), 0.05, 2e-6 + 1e-5) << count;
    EXPECT_NEAR(interval->low + interval->high, 2 * mean, 1e-12);
  }
  EXPECT_FALSE(t_interval(std::array{1.0}));
  EXPECT_FALSE(t_interval({}));
}

TEST(Interval, OfTheBootstrapIsThatOfTheMeanAndAlwaysTheSame) {
  std::vector<double> values(200);
  Random random(3);
  for (double& value : values) value = 5 + random.uniform();
  const auto interval = bootstrap_interval(values);
  ASSERT_TRUE(interval);
  // The mean of uniform numbers has the deviation sqrt(1 / 12 / n); the interval has 1.96 of them
  // on each side. The sample's own deviation is within 10 % of that, a percentile of 10,000 within
  // 4 %.
  const double reach = 1.96 * std::sqrt(1.0 / 12 / 200);
  EXPECT_NEAR((interval->high - interval->low) / 2, reach, 0.14 * reach);
  double mean = 0;
  for (const double value : values) mean += value / 200;
  EXPECT_NEAR((interval->low + interval->high) / 2, mean, 0.1 * reach);
  const auto again = bootstrap_interval(values);
  EXPECT_EQ(again->low, interval->low);
  EXPECT_EQ(again->high, interval->high);
  EXPECT_FALSE(bootstrap_interval(std::vector<double>(7, 1.0)));
}

Verdict judged(const std::vector<double>& gaps, double margin,
               std::optional<Interval> interval = std::nullopt) {
  return judge(gaps, interval, margin);
}

TEST(Verdict, OfAnEffectNeedsTheMarginInEverySeed) {
  EXPECT_EQ(judged({0.2, 0.1}, 0.1), Verdict::confirmed);
  EXPECT_EQ(judged({0.2, 0.05}, 0.1), Verdict::not_visible);
  EXPECT_EQ(judged({-0.2, -0.1}, 0.1), Verdict::contradicted);
  EXPECT_EQ(judged({-0.05}, 0.1), Verdict::not_visible);
  EXPECT_EQ(judged({-0.2, 0.3}, 0.1), Verdict::not_visible);
  EXPECT_EQ(judged({}, 0.1), Verdict::not_run);
}

TEST(Verdict, OfBeingAsGoodHasTheMarginForItsBorder) {
  EXPECT_EQ(judged({-0.04, 0.2}, -0.05), Verdict::confirmed);
  EXPECT_EQ(judged({0.04}, -0.05), Verdict::confirmed);
  EXPECT_EQ(judged({-0.06, -0.07}, -0.05), Verdict::contradicted);
  EXPECT_EQ(judged({-0.06, -0.04}, -0.05), Verdict::not_visible);
  EXPECT_EQ(judged({0.0}, 0), Verdict::confirmed);
  EXPECT_EQ(judged({-0.01}, 0), Verdict::contradicted);
}

TEST(Verdict, WaitsForAnIntervalThatIsOnOneSide) {
  EXPECT_EQ(judged({0.2, 0.9}, 0.1, Interval{0.01, 1.1}), Verdict::confirmed);
  EXPECT_EQ(judged({0.2, 0.9}, 0.1, Interval{-0.01, 1.1}), Verdict::not_visible);
  EXPECT_EQ(judged({-0.2, -0.9}, 0.1, Interval{-1.1, -0.01}), Verdict::contradicted);
  EXPECT_EQ(judged({-0.2, -0.9}, 0.1, Interval{-1.1, 0.01}), Verdict::not_visible);
  EXPECT_EQ(judged({0.1, 0.02}, -0.05, Interval{-0.04, 0.2}), Verdict::confirmed);
  EXPECT_EQ(judged({0.1, 0.02}, -0.05, Interval{-0.06, 0.2}), Verdict::not_visible);
  EXPECT_EQ(judged({-0.2, -0.1}, -0.05, Interval{-0.3, -0.06}), Verdict::contradicted);
  EXPECT_EQ(judged({-0.2, -0.1}, -0.05, Interval{-0.3, -0.04}), Verdict::not_visible);
}

CellResult cell_of(std::uint64_t seed, std::vector<double> losses) {
  CellResult cell{.seed = seed, .outcome = {}, .curve = {}, .config = {}};
  std::int64_t step = 0;
  for (const double loss : losses) {
    step += 100;
    cell.curve.push_back({.step = step, .validation_loss = loss});
  }
  cell.outcome.steps = step;
  cell.outcome.validation_loss = losses.back();
  cell.outcome.lengths = {{.multiple = 1, .loss = losses.back()}};
  return cell;
}

Results made_results() {
  Results results;
  results.arms = {{.name = "learned", .family = "", .cells = {cell_of(1, {4, 3.5, 3, 2.5})}},
                  {.name = "rope", .family = "", .cells = {cell_of(1, {3, 2, 1.5, 1})}},
                  {.name = "none", .family = "", .cells = {cell_of(1, {4, 4, 3.9, 3.8})}},
                  {.name = "rope-a", .family = "r", .cells = {cell_of(1, {3, 2, 2, 2})}},
                  {.name = "rope-b", .family = "r", .cells = {cell_of(1, {3, 2, 2, 1.25})}}};
  return results;
}

std::optional<double> steps_to_learned(const Results& results, const std::string& name) {
  return value_of(results, find_arm(results, name)->cells[0],
                  {.encoding = name, .metric = "steps_to@learned"});
}

TEST(Measures, KnowTheStepsToTheEndOfAnother) {
  const Results results = made_results();
  // 3 at 100 steps, 2 at 200: 2.5 between them, of 400.
  EXPECT_DOUBLE_EQ(*steps_to_learned(results, "rope"), 150.0 / 400);
  EXPECT_DOUBLE_EQ(*steps_to_learned(results, "learned"), 1);
  // Never: all of its steps, which is too few.
  EXPECT_DOUBLE_EQ(*steps_to_learned(results, "none"), 1);
  EXPECT_FALSE(value_of(results, results.arms[0].cells[0],
                        {.encoding = "learned", .metric = "steps_to@alibi"}));
  const ClaimResult judged =
      judge_claim(results, {.statement = "s",
                            .lower = {.encoding = "rope", .metric = "steps_to@learned"},
                            .higher = {.encoding = "learned", .metric = "steps_to@learned"},
                            .margin = 0.5});
  EXPECT_EQ(judged.verdict, Verdict::confirmed);
  EXPECT_DOUBLE_EQ(judged.gaps.at(0).lower, 0.375);
}

TEST(Measures, TakeTheBestOfAFamily) {
  const Results results = made_results();
  EXPECT_EQ(find_arm(results, "r")->name, "rope-b");
  EXPECT_EQ(find_arm(results, "rope-a")->name, "rope-a");
  EXPECT_EQ(find_arm(results, "nobody"), nullptr);
  const ClaimResult judged = judge_claim(results, {.statement = "s",
                                                   .lower = {.encoding = "r"},
                                                   .higher = {.encoding = "learned"},
                                                   .margin = 1});
  EXPECT_EQ(judged.lower_arm, "rope-b");
  EXPECT_DOUBLE_EQ(judged.gaps.at(0).lower, 1.25);
}

TEST(Published, StandsBesideOursAsDifferences) {
  const Results results = made_results();
  const PublishedTable table{.label = "l",
                             .source = "s",
                             .unit = PublishedUnit::perplexity,
                             .values = {{.measure = {.encoding = "learned"}, .number = 20},
                                        {.measure = {.encoding = "rope"}, .number = 10},
                                        {.measure = {.encoding = "alibi"}, .number = 5}}};
  const auto rows = beside(results, table);
  EXPECT_DOUBLE_EQ(rows[1].published_difference, -std::log(2.0));
  EXPECT_DOUBLE_EQ(*rows[1].ours_difference, 1 - 2.5);
  EXPECT_FALSE(rows[2].ours);
  EXPECT_FALSE(rows[2].ours_difference);
  const PublishedTable percents{.label = "l",
                                .source = "s",
                                .unit = PublishedUnit::percent,
                                .values = {{.measure = {.encoding = "learned"}, .number = 64}}};
  EXPECT_DOUBLE_EQ(*beside(results, percents)[0].ours, 250);
}

TEST(Log, IsReadAsItWasWrittenOrRefused) {
  const TemporaryFolder folder;
  write_text(folder / "log.csv", "head\n50,1000,3.5,3.25,0.002,1.5,1.25,800\n");
  const auto rows = read_log(folder / "log.csv");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].step, 50);
  EXPECT_EQ(rows[0].validation_loss, 3.25);
  EXPECT_EQ(rows[0].cpu_s, 1.25);
  for (const char* bad : {"50,1000,3.5,3.25,0.002,1.5,1.25", "50,1000,3.5,x,0.002,1.5,1.25,800",
                          "50,1000,3.5,3.25,0.002,1.5,1.25,800,9", ""}) {
    write_text(folder / "log.csv", std::string("head\n") + bad + "\n");
    EXPECT_THROW((void)read_log(folder / "log.csv"), cli::Failure) << bad;
  }
}

}  // namespace
}  // namespace rotary::lab
