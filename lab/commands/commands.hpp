// SPDX-License-Identifier: Apache-2.0
// The commands of rotary-lab. Each returns the exit code of the process; failures are cli::Failure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rotary::lab {

struct RunArguments {
  std::vector<std::string> experiments;  // files or names; empty: all
  std::string experiments_folder;
  std::string preset;
  std::string data;  // a name; "": the preset's
  std::string data_folder;
  std::string runs;  // a folder
  std::vector<std::string> only;
  std::vector<std::uint64_t> seeds;
  int threads = 1;
  std::string device = "cpu";
  std::string budget;  // "90s"; "": none
  bool data_parallel = false;
  double checkpoint_every_s = 60;
};
int run_experiment(const RunArguments& arguments);

// The cells of a run, and how long they would take.
int print_plan(const RunArguments& arguments);

// Reads the command line, runs one of these, and prints failures.
int run(int argument_count, const char* const* arguments) noexcept;

}  // namespace rotary::lab
