// SPDX-License-Identifier: Apache-2.0
// results, report, figures: what the finished cells of experiments say, as text, as JSON, as a
// page, as pictures and CSV.
#include "lab/results/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/failure.hpp"
#include "cli/files.hpp"
#include "cli/page/page.hpp"
#include "cli/plot/gnuplot.hpp"
#include "cli/printable.hpp"
#include "lab/commands/bleu_comparison.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/progress.hpp"
#include "lab/data/dataset.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiments.hpp"
#include "lab/report/lab_page.hpp"
#include "lab/results/figures.hpp"
#include "lab/results/results_json.hpp"
#include "lab/results/results_text.hpp"

namespace rotary::lab {
namespace {

void check_names(const ResultsArguments& arguments, const std::vector<Experiment>& experiments) {
  for (const std::string& name : arguments.only) {
    const bool known = std::ranges::any_of(experiments, [&](const Experiment& experiment) {
      return std::ranges::any_of(find_preset(experiment, arguments.preset).arms,
                                 [&](const Arm& arm) { return is_called(arm, name); });
    });
    if (known) continue;
    throw cli::Failure(cli::ExitCode::usage,
                       fmt::format("--only must name encodings of the preset, got '{}'", name));
  }
}

// Results of the experiments that were asked for, or of all that have finished cells.
std::vector<Results> collect(const ResultsArguments& arguments,
                             const std::vector<Experiment>& experiments) {
  check_names(arguments, experiments);
  std::vector<Results> all;
  for (const Experiment& experiment : experiments) {
    Results results = collect_results(experiment, {.preset = arguments.preset,
                                                   .runs = arguments.runs,
                                                   .only = arguments.only,
                                                   .seeds = arguments.seeds,
                                                   .complete = add_bleu});
    if (!arguments.experiments.empty() || !results.arms.empty()) all.push_back(std::move(results));
  }
  if (!all.empty()) return all;
  throw cli::Failure(cli::ExitCode::usage,
                     fmt::format("--runs must be a folder with finished cells of the preset {}, "
                                 "got {}; rotary-lab run --preset {} makes them",
                                 arguments.preset, arguments.runs, arguments.preset));
}

std::vector<Manifest> manifests_of(const ResultsArguments& arguments) {
  std::vector<Manifest> manifests = list_datasets(arguments.data_folder);
  manifests.push_back(grammar_dataset().manifest);
  manifests.push_back(grammar_pairs_dataset().manifest);
  return manifests;
}

std::vector<Experiment> experiments_of(const ResultsArguments& arguments) {
  return load_experiments({.folder = arguments.experiments_folder,
                           .asked = arguments.experiments,
                           .preset = arguments.preset});
}

void print_bleu(const Results& results, const ResultsArguments& arguments) {
  Selection selection{.preset = arguments.preset, .only = {}, .seeds = arguments.seeds};
  for (const ArmResult& arm : results.arms) selection.only.push_back(arm.name);
  if (selection.only.empty()) return;
  print_bleu_comparisons(*results.experiment, cells_of(*results.experiment, selection),
                         arguments.runs);
}

}  // namespace

int print_results(const ResultsArguments& arguments) {
  const std::vector<Experiment> experiments = experiments_of(arguments);
  const std::vector<Results> all = collect(arguments, experiments);
  if (arguments.form == ResultsForm::json) {
    print_answer("{}", json_of(all, manifests_of(arguments)));
    return 0;
  }
  for (const Results& results : all) {
    print_answer("{}{}", &results == &all.front() ? "" : "\n\n", text_of(results));
    print_bleu(results, arguments);
  }
  return 0;
}

int write_figures(const ResultsArguments& arguments) {
  std::error_code ignored;  // of a folder that cannot be, the files say it
  std::filesystem::create_directories(arguments.output, ignored);
  const auto overwrite = arguments.force ? cli::Overwrite::allow : cli::Overwrite::refuse;
  const std::vector<Experiment> experiments = experiments_of(arguments);
  std::vector<cli::OutputFile> files;
  const auto add = [&](const std::string& name, std::string bytes) {
    if (!bytes.empty())
      files.push_back({.path = arguments.output + "/" + name, .bytes = std::move(bytes)});
  };
  for (const Results& results : collect(arguments, experiments)) {
    const std::string& name = results.experiment->name;
    for (const cli::plot::Figure& figure : figures_of(results))
      add(figure.name + ".svg", cli::plot::draw(figure, {}));
    add(name + ".csv", measures_csv(results));
    add(name + "-curves.csv", curves_csv(results));
    add(name + "-pairs.csv", pairs_csv(results));
  }
  cli::write_files(files, overwrite);
  for (const cli::OutputFile& file : files)
    print_answer("{}: {} kB\n", cli::printable(file.path), (file.bytes.size() + 999) / 1000);
  return 0;
}

int write_report(const ResultsArguments& arguments) {
  const auto overwrite = arguments.force ? cli::Overwrite::allow : cli::Overwrite::refuse;
  cli::check_outputs(std::array{arguments.output}, overwrite);
  const std::vector<Experiment> experiments = experiments_of(arguments);
  const std::vector<Results> all = collect(arguments, experiments);
  const cli::OutputFile page{
      .path = arguments.output,
      .bytes = cli::page::page_with(lab_page(), json_of(all, manifests_of(arguments)))};
  cli::write_files(std::array{page}, overwrite);
  print_answer("{}: {} kB\n", cli::printable(page.path), (page.bytes.size() + 999) / 1000);
  for (const Results& results : all)
    print_answer("  {}: {} encodings\n", results.experiment->name, results.arms.size());
  return 0;
}

}  // namespace rotary::lab
