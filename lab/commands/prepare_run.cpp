// SPDX-License-Identifier: Apache-2.0
#include "lab/commands/prepare_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "apps/standard_streams.hpp"
#include "lab/commands/capacity.hpp"
#include "lab/experiment/experiments.hpp"
#include "lab/runs/run_directory.hpp"

namespace rotary::lab {
namespace {

namespace fs = std::filesystem;
using cli::ExitCode;
using cli::Failure;

// The data set of a run, and the reason if it is not the preset's own.
struct DataChoice {
  std::string name;
  std::string reason = {};
};

// Generated text can replace text for language models. Nothing can replace pairs of sentences, or
// documents with sections.
DataChoice data_of(const Experiment& experiment, const std::vector<Cell>& cells,
                   const RunArguments& arguments, MissingData missing) {
  if (!arguments.data.empty()) return {.name = arguments.data};
  const std::string& wanted = find_preset(experiment, arguments.preset).data;
  if (has_dataset(arguments.data_folder, wanted)) return {.name = wanted};
  const std::string command =
      fmt::format("./dev lab data add {} --data-dir {}", wanted, arguments.data_folder);
  const bool are_language_models = std::ranges::all_of(cells, [](const Cell& cell) {
    return cell.model.task == Task::causal_lm || cell.model.task == Task::masked_lm;
  });
  if (are_language_models && has_dataset(arguments.data_folder, std::string(grammar_name))) {
    return {.name = std::string(grammar_name),
            .reason = fmt::format("no data set {} in {}: training on generated text, whose losses "
                                  "say less. To have it: {}",
                                  wanted, arguments.data_folder, command)};
  }
  if (missing == MissingData::is_estimated) return {.name = wanted};
  throw Failure(ExitCode::io, fmt::format("{} has no data set {}, which this experiment needs: {}",
                                          arguments.data_folder, wanted, command));
}

void check_starts(const std::vector<Cell>& cells, const std::string& runs) {
  for (const Cell& cell : cells) {
    const std::string start = start_folder_of(cell);
    if (start.empty() || is_finished(runs, start)) continue;
    const bool comes_first = std::ranges::find(cells, start, [](const Cell& each) {
                               return folder_of(each);
                             }) != cells.end();
    if (comes_first) continue;
    throw Failure(
        ExitCode::usage,
        fmt::format("{} starts from {}, which is not finished in {}; first: rotary-lab run {} "
                    "--preset {} --only {} --seeds {} --runs {}",
                    folder_of(cell), start, runs, cell.start->experiment, cell.preset,
                    cell.start->encoding, cell.seed, runs));
  }
}

// The budget with which some of the cells have already started.
std::optional<Budget> begun_budget(const std::vector<Cell>& cells, const std::string& runs) {
  std::optional<Budget> begun;
  for (const Cell& cell : cells) {
    const auto budget = read_budget(runs, cell);
    if (!budget) continue;
    if (begun && begun->scale != budget->scale) {
      throw Failure(ExitCode::usage,
                    fmt::format("{}: its experiments began with budgets of different scale, {:.4g} "
                                "and {:.4g}; run them one by one",
                                runs, begun->scale, budget->scale));
    }
    begun = budget;
  }
  return begun;
}

Budget budget_of(const PreparedRun& run, const RunArguments& arguments) {
  // Held meanwhile, so that only one process computes the budget.
  fs::create_directories(arguments.runs);
  const std::string path = (fs::path(arguments.runs) / "budget.lock").string();
  const cli::Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.number() < 0 || ::flock(lock.number(), LOCK_EX) != 0)
    throw Failure(ExitCode::io, fmt::format("{}: cannot lock it", path));
  const auto begun = begun_budget(run.cells, arguments.runs);
  const auto asked =
      arguments.budget.empty() ? std::nullopt : std::optional(parse_duration(arguments.budget));
  if (begun && asked && *asked != begun->seconds) {
    throw Failure(ExitCode::usage,
                  fmt::format("--budget must be {:.0f}s, with which the cells in {} began, got {}; "
                              "or give --runs another folder",
                              begun->seconds, arguments.runs, arguments.budget));
  }
  for (const Cell& cell : run.cells) {
    if (!began_without_budget(arguments.runs, cell)) continue;
    throw Failure(
        ExitCode::usage,
        fmt::format("cells of {} in {} began with all of their steps; give --runs another "
                    "folder",
                    cell.experiment, arguments.runs));
  }
  const Budget budget = begun ? *begun : make_budget(*asked, run.cells, estimate_times(run));
  write_budget(arguments.runs, run.cells, budget);
  return budget;
}

void apply_budget(PreparedRun& run, const RunArguments& arguments) {
  if (arguments.budget.empty() && !begun_budget(run.cells, arguments.runs)) return;
  const Budget budget = budget_of(run, arguments);
  for (Cell& cell : run.cells) scale_training(cell.training, budget.scale);
  run.remarks.push_back(
      fmt::format("budget of {:.0f} s of processor time: every training has {:.4g} of its steps",
                  budget.seconds, budget.scale));
}

// Names of the preset's arms that --only selects, by name or by family. Empty without --only.
std::vector<std::string> named_arms(const Preset& preset, const std::vector<std::string>& only) {
  std::vector<std::string> names;
  for (const Arm& arm : preset.arms) {
    const bool is_named =
        std::ranges::any_of(only, [&](const std::string& name) { return is_called(arm, name); });
    if (is_named) names.push_back(arm.name);
  }
  return names;
}

// Drops experiments in which --only selects no arm. Fails if a name is in no experiment.
void keep_named(std::vector<Experiment>& experiments, const RunArguments& arguments) {
  if (arguments.only.empty()) return;
  std::set<std::string> names;
  for (const std::string& name : arguments.only) {
    const bool known = std::ranges::any_of(experiments, [&](const Experiment& experiment) {
      return !named_arms(find_preset(experiment, arguments.preset), {name}).empty();
    });
    if (known) continue;
    for (const Experiment& experiment : experiments)
      for (const Arm& arm : find_preset(experiment, arguments.preset).arms) names.insert(arm.name);
    throw cli::Failure(
        cli::ExitCode::usage,
        fmt::format("--only must name encodings of the preset, got '{}'; there are {}", name,
                    fmt::join(names, ", ")));
  }
  std::erase_if(experiments, [&](const Experiment& experiment) {
    return named_arms(find_preset(experiment, arguments.preset), arguments.only).empty();
  });
}

}  // namespace

PreparedRun select_cells(const RunArguments& arguments, MissingData missing) {
  PreparedRun run{.experiments = load_experiments({.folder = arguments.experiments_folder,
                                                   .asked = arguments.experiments,
                                                   .preset = arguments.preset}),
                  .cells = {},
                  .data = {},
                  .remarks = {}};
  keep_named(run.experiments, arguments);
  for (const Experiment& experiment : run.experiments) {
    const Preset& preset = find_preset(experiment, arguments.preset);
    std::vector<Cell> cells = cells_of(experiment, {.preset = arguments.preset,
                                                    .only = named_arms(preset, arguments.only),
                                                    .seeds = arguments.seeds});
    const DataChoice choice = data_of(experiment, cells, arguments, missing);
    if (!choice.reason.empty() &&
        std::ranges::find(run.remarks, choice.reason) == run.remarks.end())
      run.remarks.push_back(choice.reason);
    const bool is_there = has_dataset(arguments.data_folder, choice.name);
    if (!run.data.contains(choice.name) && (is_there || missing == MissingData::fails))
      run.data.emplace(choice.name, load_dataset(arguments.data_folder, choice.name));
    for (Cell& cell : cells) {
      cell.data = choice.name;
      if (const auto data = run.data.find(choice.name); data != run.data.end()) {
        cell.data_sha256 = data->second.manifest.sha256;
        cell.pieces_sha256 = data->second.manifest.pieces_sha256;
      }
      run.cells.push_back(std::move(cell));
    }
  }
  return run;
}

void prepare_cells(PreparedRun& run, const RunArguments& arguments) {
  check_starts(run.cells, arguments.runs);
  apply_budget(run, arguments);
  check_capacity(run, arguments);
}

}  // namespace rotary::lab
