// SPDX-License-Identifier: Apache-2.0
// Loads experiments by name. Names become folders, so they must be plain.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lab/experiment/experiment.hpp"

namespace rotary::lab {

inline constexpr std::string_view plain_name_requirement =
    "lower-case letters, digits, '-', '_' and '.', not first";

[[nodiscard]] inline bool is_plain_name(std::string_view name) noexcept {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, is_plain);
}

struct ExperimentSelection {
  std::string folder;
  // Files, or names in the folder without .json. Empty: all files that have the preset.
  std::vector<std::string> asked;
  std::string preset;
};

// lab/experiments in the source tree of this build.
[[nodiscard]] std::string experiments_folder();
// lab/results in the source tree of this build: a Python program's folder.
[[nodiscard]] std::string results_folder();

// In the order of `asked`, else by name, but each after the experiments that its cells start from.
// Fails if no experiment has the preset, a requested one lacks it, or starts form a cycle.
[[nodiscard]] std::vector<Experiment> load_experiments(const ExperimentSelection& selection);

}  // namespace rotary::lab
