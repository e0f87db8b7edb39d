// SPDX-License-Identifier: Apache-2.0
#include "lab/runs/sweep.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rotary::lab {
namespace {

using enum CellState;

// The states of a cell at its visits; the last state holds for all later visits.
class Cells {
 public:
  explicit Cells(std::map<std::int64_t, std::vector<CellState>> states)
      : states_(std::move(states)) {}

  Sweep sweep() {
    return {.cells = std::ssize(states_), .work = [this](std::int64_t cell, Visit visit) {
              visits.emplace_back(cell, visit);
              std::vector<CellState>& left = states_.at(cell);
              const CellState state = left.front();
              if (left.size() > 1) left.erase(left.begin());
              return state;
            }};
  }

  std::vector<std::pair<std::int64_t, Visit>> visits;

 private:
  std::map<std::int64_t, std::vector<CellState>> states_;
};

std::function<std::optional<std::int64_t>()> queue_of(std::vector<std::int64_t> numbers) {
  return [numbers = std::move(numbers), next = std::size_t{0}]() mutable {
    return next < numbers.size() ? std::optional(numbers[next++]) : std::nullopt;
  };
}

TEST(Sweep, AloneItVisitsEachOnceAndLeavesWhatOthersHold) {
  Cells cells({{0, {busy}}, {1, {failed}}, {2, {finished}}});
  EXPECT_EQ(run_sweep(cells.sweep()), busy);
  EXPECT_EQ(cells.visits, (std::vector<std::pair<std::int64_t, Visit>>{
                              {0, Visit::first}, {1, Visit::first}, {2, Visit::first}}));
}

TEST(Sweep, AfterTheQueueItTakesOverWhatNobodyFinished) {
  // 0 went to a process that was killed; 2 to one that still works on it.
  Cells cells({{0, {finished}}, {1, {finished}}, {2, {busy, busy, finished}}});
  Sweep sweep = cells.sweep();
  sweep.next = queue_of({1, 3});
  int waited = 0;
  sweep.wait = [&] { return ++waited < 100; };
  EXPECT_EQ(run_sweep(sweep), finished);
  EXPECT_EQ(waited, 2);
  EXPECT_EQ(cells.visits, (std::vector<std::pair<std::int64_t, Visit>>{{1, Visit::first},
                                                                       {0, Visit::again},
                                                                       {2, Visit::again},
                                                                       {2, Visit::again},
                                                                       {2, Visit::again}}));
}

TEST(Sweep, WithoutAQueueToReachEverythingIsDoneAllTheSame) {
  Cells cells({{0, {finished}}, {1, {finished}}});
  Sweep sweep = cells.sweep();
  sweep.next = queue_of({});
  EXPECT_EQ(run_sweep(sweep), finished);
  EXPECT_EQ(cells.visits.size(), 2U);
}

TEST(Sweep, WhatBeginsWithAnotherCellComesAfterIt) {
  Cells cells({{0, {blocked, finished}}, {1, {finished}}});
  EXPECT_EQ(run_sweep(cells.sweep()), finished);
  Cells held({{0, {blocked, blocked, finished}}, {1, {busy, finished}}});
  Sweep sweep = held.sweep();
  sweep.wait = [] { return true; };
  EXPECT_EQ(run_sweep(sweep), finished);
  // Its beginning came to no end.
  Cells never({{0, {blocked}}, {1, {failed}}});
  EXPECT_EQ(run_sweep(never.sweep()), blocked);
}

TEST(Sweep, ASignalEndsItAnywhere) {
  Cells cells({{0, {stopped}}, {1, {finished}}});
  EXPECT_EQ(run_sweep(cells.sweep()), stopped);
  EXPECT_EQ(cells.visits.size(), 1U);
  Cells waiting({{0, {busy}}});
  Sweep sweep = waiting.sweep();
  sweep.wait = [] { return false; };
  EXPECT_EQ(run_sweep(sweep), stopped);
}

}  // namespace
}  // namespace rotary::lab
