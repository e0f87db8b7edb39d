// SPDX-License-Identifier: Apache-2.0
// The commands of rotary-lab. Each returns the exit code of the process; failures are cli::Failure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/torch/measure_cost.hpp"

namespace rotary::lab {

struct RunArguments {
  std::string experiment;                // a file, for commands that take one
  std::vector<std::string> experiments;  // files or names, for commands that take several; empty:
                                         // all
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

// Prints a table of the cost of a step.
int print_cost(const RunArguments& run, const CostOptions& options);

enum class ResultsForm { text, json };

struct ResultsArguments {
  std::vector<std::string> experiments;  // files or names; empty: all with finished cells
  std::string experiments_folder;
  std::string preset;
  std::string runs;         // a folder
  std::string data_folder;  // for origins and licences
  std::vector<std::string> only;
  std::vector<std::uint64_t> seeds;
  ResultsForm form = ResultsForm::text;
  std::string output;  // the report's file, the figures' folder
  bool force = false;
};

// Finished cells, and their verdicts on the claims.
int print_results(const ResultsArguments& arguments);

// The same as one HTML page.
int write_report(const ResultsArguments& arguments);

// The same as pictures, EXPERIMENT.svg, and as numbers, EXPERIMENT.csv and -curves.csv, in a folder
// that exists.
int write_figures(const ResultsArguments& arguments);

// Reads the command line, runs one of these, and prints failures.
int run(int argument_count, const char* const* arguments) noexcept;

}  // namespace rotary::lab
