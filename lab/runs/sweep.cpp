// SPDX-License-Identifier: Apache-2.0
#include "lab/runs/sweep.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rotary::lab {
namespace {

bool is_open(CellState state) { return state == CellState::busy || state == CellState::blocked; }

class Visits {
 public:
  explicit Visits(const Sweep& sweep)
      : sweep_(sweep),
        states_(static_cast<std::size_t>(sweep.cells), CellState::busy),
        visits_(states_.size(), sweep.next ? Visit::again : Visit::first) {}

  CellState visit_given(std::int64_t cell) {
    visits_[static_cast<std::size_t>(cell)] = Visit::first;
    return visit(cell);
  }

  CellState visit(std::int64_t cell) {
    const auto index = static_cast<std::size_t>(cell);
    states_[index] = sweep_.work(cell, visits_[index]);
    visits_[index] = Visit::again;
    return states_[index];
  }

  // Whether a cell that was open no longer is; absent: stopped.
  std::optional<bool> visit_open() {
    bool closed = false;
    for (std::int64_t cell = 0; cell < sweep_.cells; ++cell) {
      if (!is_open(states_[static_cast<std::size_t>(cell)])) continue;
      const CellState state = visit(cell);
      if (state == CellState::stopped) return std::nullopt;
      closed = closed || !is_open(state);
    }
    return closed;
  }

  [[nodiscard]] bool any_blocked() const {
    return std::ranges::find(states_, CellState::blocked) != states_.end();
  }

  [[nodiscard]] CellState last_state() const {
    return states_.empty() ? CellState::finished : *std::ranges::max_element(states_);
  }

 private:
  const Sweep& sweep_;
  std::vector<CellState> states_;
  std::vector<Visit> visits_;
};

}  // namespace

CellState run_sweep(const Sweep& sweep) {
  Visits visits(sweep);
  while (sweep.next) {
    const auto cell = sweep.next();
    if (!cell || *cell >= sweep.cells) break;
    if (visits.visit_given(*cell) == CellState::stopped) return CellState::stopped;
  }
  while (true) {
    const auto closed = visits.visit_open();
    if (!closed) return CellState::stopped;
    const CellState last = visits.last_state();
    if (!is_open(last)) return last;
    // A cell blocked by a cell of this run is free once that one is finished.
    if (*closed && visits.any_blocked()) continue;
    if (last == CellState::blocked || !sweep.wait) return last;
    if (!sweep.wait()) return CellState::stopped;
  }
}

}  // namespace rotary::lab
