// SPDX-License-Identifier: Apache-2.0
// Commands of rotary-lab. They return the process's exit code. All but run() throw cli::Failure.
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

// Prints the cells of a run and their estimated time.
int print_plan(const RunArguments& arguments);

// Parses the command line, runs a command, and prints failures.
int run(int argument_count, const char* const* arguments) noexcept;

}  // namespace rotary::lab
