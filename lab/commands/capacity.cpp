// SPDX-License-Identifier: Apache-2.0
#include "lab/commands/capacity.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "apps/failure.hpp"
#include "lab/experiment/cell.hpp"

namespace rotary::lab {
namespace {

using cli::ExitCode;
using cli::Failure;

constexpr double longest_run_s = 24 * 3600;
// Some hours of work for one processor. Smaller runs are not timed: they end within a day.
constexpr double plainly_small_flops = 1e15;

void check_memory(const std::vector<Cell>& cells, const Capacity& machine) {
  for (const Cell& cell : cells) {
    const double bytes = bytes_of_training(cell);
    if (bytes <= machine.memory_bytes) continue;
    throw Failure(
        ExitCode::unsupported,
        fmt::format("{} needs about {:.1f} GB of memory, this machine has {:.1f} GB; take a "
                    "smaller preset, or --device cuda",
                    folder_of(cell), bytes / 1e9, machine.memory_bytes / 1e9));
  }
}

}  // namespace

Capacity this_capacity() {
  cpu_set_t set;
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  return {.processors = known ? std::max(1, CPU_COUNT(&set)) : 1,
          .memory_bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<double>(sysconf(_SC_PAGE_SIZE))};
}

void check_capacity(const PreparedRun& run, const RunArguments& arguments) {
  if (arguments.device != "cpu") return;
  const Capacity machine = this_capacity();
  check_memory(run.cells, machine);
  double flops = 0;
  for (const Cell& cell : run.cells)
    flops += flops_of_step(cell) * static_cast<double>(cell.training.steps);
  if (flops < plainly_small_flops) return;
  double seconds = 0;
  for (const CellTime& time : estimate_times(run)) seconds += time.steps_s + time.fixed_s;
  if (seconds <= longest_run_s * machine.processors) return;
  throw Failure(
      ExitCode::unsupported,
      fmt::format("{} cells would take about {:.0f} hours of processor time, {:.0f} hours with all "
                  "{} processors of this machine, which is more than a day. --device cuda trains "
                  "on a GPU, --budget 12h for fewer steps; --only and --seeds leave cells out",
                  run.cells.size(), seconds / 3600, seconds / 3600 / machine.processors,
                  machine.processors));
}

}  // namespace rotary::lab
