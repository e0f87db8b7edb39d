// SPDX-License-Identifier: Apache-2.0
// Several experiments at once: those of a folder, in an order in which they can be run.
#pragma once

#include <string>
#include <vector>

#include "lab/experiment/experiment.hpp"

namespace rotary::lab {

struct ExperimentSelection {
  std::string folder;
  // Files, or names of the folder's without .json; empty: all that have the preset.
  std::vector<std::string> asked;
  std::string preset;
};

// lab/experiments of the source tree that this was built from.
[[nodiscard]] std::string experiments_folder();

// Sorted by name, but each after those that its cells start from. Fails if none has the preset, if
// one of those asked for does not have it, or if experiments start from each other.
[[nodiscard]] std::vector<Experiment> load_experiments(const ExperimentSelection& selection);

}  // namespace rotary::lab
