// SPDX-License-Identifier: Apache-2.0
// run: every cell of a preset that nobody has finished and nobody works on.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/commands/commands.hpp"
#include "lab/commands/prepare_run.hpp"
#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiment.hpp"
#include "lab/process/interruption.hpp"
#include "lab/process/startup.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {
namespace {

// 128 + SIGINT, as a shell says it.
constexpr int interrupted_exit_code = 130;

std::string duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  return fmt::format("{}:{:02d}", whole / 60, whole % 60);
}

// One line that changes on a terminal, one line each ten seconds elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(std::string title) : title_(std::move(title)) {}

  void show(const Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + (terminal_ ? std::chrono::milliseconds(250) : std::chrono::seconds(10));
    fmt::print(stderr, "{}{}: step {}/{}, loss {:.3f}, {:.0f} tokens/s, {} left{}",
               terminal_ ? "\r" : "", title_, progress.step, progress.steps, progress.train_loss,
               progress.tokens_per_s, duration(progress.seconds_left), terminal_ ? "   " : "\n");
  }
  void finish(std::string_view what) const {
    fmt::print(stderr, "{}{}: {}{}\n", terminal_ ? "\r" : "", title_, what,
               terminal_ ? std::string(50, ' ') : "");
  }

 private:
  std::string title_;
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  std::chrono::steady_clock::time_point next_ = {};
};

enum class CellState { finished, busy, stopped };

CellState run_cell(const Cell& cell, const Dataset& data, const std::string& runs) {
  ProgressLine line(fmt::format("{} {} seed {}", cell.experiment, cell.name, cell.seed));
  auto directory = RunDirectory::claim(runs, cell);
  if (!directory) {
    line.finish("another process works on it");
    return CellState::busy;
  }
  if (directory->finished()) {
    line.finish("finished before");
    return CellState::finished;
  }
  const TrainOptions options{.on_progress = [&](const Progress& progress) { line.show(progress); },
                             .stops = [](std::int64_t) { return interrupted(); }};
  const auto outcome = train_cell(cell, data, *directory, options);
  if (!outcome) {
    line.finish("stopped; the same command goes on from here");
    return CellState::stopped;
  }
  line.finish(fmt::format("{} steps, validation loss {:.3f}, {:.1f} s of processor time",
                          outcome->steps, outcome->validation_loss, outcome->cpu_s));
  return CellState::finished;
}

void print_head(const PreparedRun& run, const RunArguments& arguments) {
  for (const Experiment& experiment : run.experiments) fmt::print(stderr, "{}\n", experiment.title);
  fmt::print(stderr, "{} cells", run.cells.size());
  for (const auto& [name, data] : run.data)
    fmt::print(stderr, ", {} ({})", name, data.manifest.origin);
  fmt::print(stderr, "\n{}, {} thread{}\n", blas_in_use(), arguments.threads,
             arguments.threads == 1 ? "" : "s: runs are not repeatable to the bit");
}

}  // namespace

int run_experiment(const RunArguments& arguments) {
  set_threads(arguments.threads);
  use_device(arguments.device);
  PreparedRun run = select_cells(arguments, MissingData::fails);
  print_head(run, arguments);
  prepare_cells(run, arguments);
  watch_interruption();
  for (const Cell& cell : run.cells) {
    if (run_cell(cell, run.data.at(cell.data), arguments.runs) == CellState::stopped)
      return interrupted_exit_code;
  }
  return 0;
}

}  // namespace rotary::lab
