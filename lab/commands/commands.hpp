// SPDX-License-Identifier: Apache-2.0
// The commands of rotary-lab. Each returns the exit code of the process; failures are cli::Failure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/data/dataset.hpp"
#include "lab/torch/measure_cost.hpp"

namespace rotary::lab {

int list_encodings();

struct DataArguments {
  std::string folder;
  std::string name;
  Source source;
};
int add_data(const DataArguments& arguments);
int list_data(const std::string& folder);

struct RunArguments {
  std::string experiment;  // a file
  std::string preset;
  std::string data;  // a name
  std::string data_folder;
  std::string runs;  // a folder
  std::vector<std::string> only;
  std::vector<std::uint64_t> seeds;
  int threads = 1;
  std::string device = "cpu";
};
int run_experiment(const RunArguments& arguments);

// What a step costs, in a table.
int print_cost(const RunArguments& run, const CostOptions& options);

// A table of the finished cells of the run, and what they say about the claims.
int print_results(const RunArguments& arguments);

// Reads the command line, runs one of these, and prints what fails.
int run(int argument_count, const char* const* arguments) noexcept;

}  // namespace rotary::lab
