// SPDX-License-Identifier: Apache-2.0
// run: trains every cell of a preset that is not finished and that no other process trains. Several
// processes may divide the cells among them, or train each cell together.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "apps/failure.hpp"
#include "apps/printable.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/prepare_run.hpp"
#include "lab/commands/progress.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiment.hpp"
#include "lab/process/rank_environment.hpp"
#include "lab/process/startup.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/torch/ranks.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {
namespace {

// In ascending order: the highest state of any cell decides how the run ends.
enum class CellState {
  finished,
  failed,   // its loss became infinite or NaN
  blocked,  // starts from a cell that is not finished
  busy,     // another process holds it
  stopped   // by a signal
};

bool is_open(CellState state) { return state == CellState::busy || state == CellState::blocked; }

std::int64_t count_finished(const std::vector<Cell>& cells, const std::string& runs) {
  return std::ranges::count_if(
      cells, [&](const Cell& cell) { return is_finished(runs, folder_of(cell)); });
}

// Trains this process's cells, or its share of each cell.
class Runner {
 public:
  // Without an environment the process is alone.
  Runner(const RunArguments& arguments, const PreparedRun& run,
         const std::optional<RankEnvironment>& environment)
      : arguments_(arguments), run_(run) {
    if (!environment) return;
    audience_ = Audience::several;
    ranks_.emplace(*environment);
  }

  // Each process trains cells alone and locks them meanwhile. Returns the exit code.
  int run_cells() { return exit_code(sweep()); }
  // All processes share each cell. Returns the exit code.
  int run_together();

 private:
  [[nodiscard]] ProgressLine line_of(const Cell& cell) const {
    return {fmt::format("{} {} seed {}", cell.experiment, cell.name, cell.seed), audience_};
  }
  [[nodiscard]] bool is_blocked(const Cell& cell) const;
  CellState sweep();
  CellState visit(const Cell& cell);
  CellState lead(const Cell& cell);
  CellState follow(Cell cell);
  // ranks: null if the process is alone.
  CellState train(const Cell& cell, RunDirectory& directory, Ranks* ranks);
  [[nodiscard]] TrainOptions options_for(ProgressLine& line, Ranks* ranks) const;
  // A loss that is not finite ends only its cell. Any other failure ends the run.
  template <class Work>
  CellState or_failed(ProgressLine& line, const Work& work);
  [[nodiscard]] int exit_code(CellState last) const;

  const RunArguments& arguments_;
  const PreparedRun& run_;
  Audience audience_ = Audience::person;
  std::optional<Ranks> ranks_;
  bool one_failed_ = false;
};

TrainOptions Runner::options_for(ProgressLine& line, Ranks* ranks) const {
  return {.checkpoint_every_s = arguments_.checkpoint_every_s,
          .on_progress = [&line](const Progress& progress) { line.show(progress); },
          .stops = [](std::int64_t) { return interrupted(); },
          .ranks = ranks};
}

template <class Work>
CellState Runner::or_failed(ProgressLine& line, const Work& work) {
  try {
    return work();
  } catch (const cli::Failure& failure) {
    if (failure.exit_code() != cli::ExitCode::check_failed) throw;
    line.finish(failure.what());
    one_failed_ = true;
    return CellState::failed;
  }
}

CellState Runner::train(const Cell& cell, RunDirectory& directory, Ranks* ranks) {
  ProgressLine line = line_of(cell);
  return or_failed(line, [&] {
    const auto outcome =
        train_cell(cell, run_.data.at(cell.data), directory, options_for(line, ranks));
    if (!outcome) {
      line.finish("stopped; the same command goes on from here");
      return CellState::stopped;
    }
    line.finish(
        fmt::format("{} steps, validation loss {:.3f}, {:.1f} s of processor time; {} of "
                    "{} cells finished",
                    outcome->steps, outcome->validation_loss, outcome->cpu_s,
                    count_finished(run_.cells, arguments_.runs), run_.cells.size()));
    return CellState::finished;
  });
}

bool Runner::is_blocked(const Cell& cell) const {
  return cell.start && !is_finished(arguments_.runs, start_folder_of(cell));
}

CellState Runner::visit(const Cell& cell) {
  if (is_blocked(cell)) return CellState::blocked;
  const Cell ready = with_start(cell, arguments_.runs);
  auto directory = RunDirectory::claim(arguments_.runs, ready);
  if (!directory) return CellState::busy;
  return directory->finished() ? CellState::finished : train(ready, *directory, nullptr);
}

// Trains every cell that this process can lock. With several ranks, also waits until the others
// finish their cells. Returns the highest state of any cell.
CellState Runner::sweep() {
  std::vector<CellState> states(run_.cells.size(), CellState::busy);
  while (true) {
    bool changed = false;
    for (std::size_t n = 0; n < states.size(); ++n) {
      if (!is_open(states[n])) continue;
      states[n] = visit(run_.cells[n]);
      if (states[n] == CellState::stopped) return CellState::stopped;
      changed = changed || !is_open(states[n]);
    }
    const auto last = std::ranges::max_element(states);
    if (last == states.end()) return CellState::finished;
    // A cell that finished in this pass may unblock another one.
    if (is_open(*last) && changed) continue;
    if (*last != CellState::busy) return *last;
    if (!ranks_) {
      line_of(run_.cells[static_cast<std::size_t>(last - states.begin())])
          .finish("another process works on it");
      return *last;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    if (interrupted()) return CellState::stopped;
  }
}

int Runner::exit_code(CellState last) const {
  if (last == CellState::stopped) return 128 + SIGINT;  // as shells do
  if (last == CellState::blocked) {
    throw cli::Failure(cli::ExitCode::check_failed,
                       "a cell starts from a cell whose training failed");
  }
  return static_cast<int>(one_failed_ ? cli::ExitCode::check_failed : cli::ExitCode::ok);
}

// Rank 0's messages to the others about a cell. Cell::start_sha256 follows share_it.
constexpr std::string_view skip_it = "skip";
constexpr std::string_view stop_it = "stop";
constexpr std::string_view share_it = "share";

CellState Runner::lead(const Cell& cell) {
  const bool blocked = is_blocked(cell);
  const Cell ready = blocked ? cell : with_start(cell, arguments_.runs);
  auto directory = blocked ? std::nullopt : RunDirectory::claim(arguments_.runs, ready);
  const bool is_open = directory && !directory->finished();
  // Costs are measured by one process only.
  const bool shares = is_open && cell.training.cost_lengths.empty();
  (void)ranks_->broadcast(shares ? std::string(share_it) + ready.start_sha256
                                 : std::string(skip_it));
  if (is_open) return train(ready, *directory, shares ? &*ranks_ : nullptr);
  if (blocked) {
    line_of(cell).finish("waits for the cell that it starts from");
    return CellState::blocked;
  }
  if (directory) return CellState::finished;
  line_of(cell).finish("another process works on it");
  return CellState::busy;
}

CellState Runner::follow(Cell cell) {
  const std::string said = ranks_->broadcast("");
  if (said == skip_it) return CellState::finished;
  if (said == stop_it) return CellState::stopped;
  cell.start_sha256 = said.substr(share_it.size());
  ProgressLine line = line_of(cell);
  return or_failed(line, [&] {
    const TrainOptions options = options_for(line, &*ranks_);
    const auto steps = follow_cell(cell, run_.data.at(cell.data), options);
    return steps ? CellState::finished : CellState::stopped;
  });
}

int Runner::run_together() {
  ranks_->join();
  const bool leads = ranks_->rank() == 0;
  if (!leads) audience_ = Audience::nobody;
  CellState last = CellState::finished;
  for (const Cell& cell : run_.cells) {
    const CellState state = leads ? lead(cell) : follow(cell);
    if (state == CellState::stopped) {
      // Rank 0 measures costs alone. The other ranks wait for its message about the next cell.
      const bool alone = !cell.training.cost_lengths.empty();
      if (leads && alone && &cell != &run_.cells.back())
        (void)ranks_->broadcast(std::string(stop_it));
      return exit_code(state);
    }
    last = std::max(last, state);
  }
  return exit_code(last);
}

void print_head(const PreparedRun& run, const RunArguments& arguments) {
  for (const Experiment& experiment : run.experiments) print_note("{}\n", experiment.title);
  print_note("{} cells", run.cells.size());
  if (const auto finished = count_finished(run.cells, arguments.runs); finished > 0)
    print_note(", {} finished before", finished);
  for (const auto& [name, data] : run.data)
    print_note(", {} ({})", name, cli::printable(data.manifest.origin));
  print_note("\n{}, {} thread{}\n", blas_in_use(), arguments.threads,
             arguments.threads == 1 ? "" : "s: runs are not repeatable to the bit");
  for (const std::string& remark : run.remarks) print_note("{}\n", remark);
}

}  // namespace

int run_experiment(const RunArguments& arguments) {
  const auto environment = rank_environment();
  if (arguments.data_parallel && !environment) {
    throw cli::Failure(cli::ExitCode::usage,
                       "--data-parallel must have several processes: start them with torchrun or "
                       "lab/jobs.sh");
  }
  set_threads(arguments.threads);
  use_device(arguments.device);
  PreparedRun run = select_cells(arguments, MissingData::fails);
  prepare_cells(run, arguments);
  if (!environment || environment->rank == 0) print_head(run, arguments);
  watch_interruption();
  Runner runner(arguments, run, environment);
  return arguments.data_parallel ? runner.run_together() : runner.run_cells();
}

}  // namespace rotary::lab
