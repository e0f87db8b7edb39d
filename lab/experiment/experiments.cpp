// SPDX-License-Identifier: Apache-2.0

#include "lab/experiment/experiments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "apps/failure.hpp"

namespace rotary::lab {

namespace {

namespace fs = std::filesystem;
using cli::ExitCode;
using cli::Failure;

constexpr std::string_view suffix = ".json";

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == suffix) files.push_back(entry.path().string());
  }
  if (error) throw Failure(ExitCode::io, fmt::format("{}: {}", folder, error.message()));
  std::ranges::sort(files);
  return files;
}

std::string file_of(const std::string& asked, const std::string& folder) {
  const bool is_name = !asked.ends_with(suffix) && asked.find('/') == std::string::npos;
  return is_name ? (fs::path(folder) / (asked + std::string(suffix))).string() : asked;
}

bool starts_from(const Experiment& experiment, const std::string& other,
                 const std::string& preset) {
  return std::ranges::any_of(find_preset(experiment, preset).arms, [&](const Arm& arm) {
    return arm.start && arm.start->experiment == other && other != experiment.name;
  });
}

std::vector<Experiment> in_order(std::vector<Experiment> experiments, const std::string& preset) {
  std::vector<Experiment> ordered;
  while (!experiments.empty()) {
    const auto next = std::ranges::find_if(experiments, [&](const Experiment& each) {
      return std::ranges::none_of(experiments, [&](const Experiment& other) {
        return starts_from(each, other.name, preset);
      });
    });
    if (next == experiments.end()) {
      throw Failure(ExitCode::malformed_input,
                    fmt::format("{}: its cells must not start from experiments that start from it",
                                experiments.front().name));
    }
    ordered.push_back(std::move(*next));
    experiments.erase(next);
  }
  return ordered;
}

}  // namespace

std::string experiments_folder() { return ROTARY_LAB_FOLDER "/experiments"; }
std::string results_folder() { return ROTARY_LAB_FOLDER "/results"; }

std::vector<Experiment> load_experiments(const ExperimentSelection& selection) {
  std::vector<Experiment> experiments;
  for (const std::string& asked : selection.asked) {
    experiments.push_back(load_experiment(file_of(asked, selection.folder)));
    (void)find_preset(experiments.back(), selection.preset);
  }
  if (selection.asked.empty()) {
    for (const std::string& file : files_in(selection.folder)) {
      Experiment experiment = load_experiment(file);
      if (experiment.presets.contains(selection.preset))
        experiments.push_back(std::move(experiment));
    }
  }
  if (experiments.empty()) {
    throw Failure(ExitCode::usage, fmt::format("--preset must be one that an experiment of {} "
                                               "has, got '{}'",
                                               selection.folder, selection.preset));
  }
  return in_order(std::move(experiments), selection.preset);
}

}  // namespace rotary::lab
