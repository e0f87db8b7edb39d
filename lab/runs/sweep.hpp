// SPDX-License-Identifier: Apache-2.0
// The order in which a process takes the cells of a run, alone or beside others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace rotary::lab {

// Ordered by how much a state says about a whole run.
enum class CellState {
  finished,
  failed,   // its training could not finish: a loss that is not finite
  blocked,  // begins with the weights of a cell that is not finished
  busy,     // another process holds it
  stopped   // by a signal
};

// first: a cell from the queue, or any cell if there is no queue.
enum class Visit { first, again };

struct Sweep {
  std::int64_t cells = 0;
  // Takes a cell as far as it goes.
  std::function<CellState(std::int64_t cell, Visit visit)> work;
  // The next number of a queue that hands each cell to one of several processes. Absent: it is
  // empty, or out of reach. May be empty itself: there is no queue.
  std::function<std::optional<std::int64_t>()> next = {};
  // Waits a while for cells that are busy; false: stop. May be empty: they are left to those who
  // hold them.
  std::function<bool()> wait = {};
};

// Takes first the cells from the queue, then all that are unfinished: the queue only sets an order,
// and a cell that it gave to a process that has ended must not be lost. Returns the last of the
// states, in their order, that a cell was left in.
[[nodiscard]] CellState run_sweep(const Sweep& sweep);

}  // namespace rotary::lab
