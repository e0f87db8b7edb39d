// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include "cli/failure.hpp"
#include "cli/printable.hpp"
#include "lab/commands/commands.hpp"
#include "lab/commands/progress.hpp"
#include "lab/commands/sample.hpp"
#include "lab/encodings/encoding.hpp"
#include "lab/experiment/experiments.hpp"
#include "rotary/version.hpp"

namespace rotary::lab {
namespace {

using Command = std::function<int()>;

constexpr const char* examples = R"(Examples:
  rotary-lab encodings
  rotary-lab run --preset quick
  rotary-lab run e1-causal-lm --preset full --only rope,learned --budget 10m
  rotary-lab plan --preset full
  rotary-lab results lab/experiments/e1-causal-lm.json --preset quick
  rotary-lab report --preset quick -o lab.html
  rotary-lab figures e1-causal-lm --preset full -o pictures
)";

int list_encodings() {
  for (const NamedEncoding& each : named_encodings()) {
    print_answer("{:<13} {}\n{:<13} {}\n", each.name, each.summary, "",
                 nlohmann::json::parse(each.settings).dump());
  }
  return 0;
}

void declare_encodings(CLI::App& root, Command& chosen) {
  root.add_subcommand("encodings", "every encoding by name, with its settings")
      ->callback([&chosen] { chosen = list_encodings; });
}

void add_data_folder(CLI::App& app, std::string& folder) {
  app.add_option("--data-dir", folder, "where data sets are kept")->default_val("lab-data");
}

void add_selection_options(CLI::App& app, RunArguments& arguments) {
  app.add_option("--preset", arguments.preset, "one of its presets")->default_val("quick");
  app.add_option("--only", arguments.only, "encodings, with commas between")->delimiter(',');
}

void add_experiment_options(CLI::App& app, RunArguments& arguments) {
  app.add_option("EXPERIMENT", arguments.experiment, "a file of lab/experiments/")->required();
  add_selection_options(app, arguments);
}

void add_experiments_options(CLI::App& app, RunArguments& arguments) {
  app.add_option("EXPERIMENT", arguments.experiments,
                 "files, or names of those in the folder; all that have the preset unless said");
  app.add_option("--experiments", arguments.experiments_folder, "the folder of experiments")
      ->default_val(experiments_folder());
  add_selection_options(app, arguments);
}

void add_run_options(CLI::App& app, RunArguments& arguments) {
  app.add_option("--runs", arguments.runs, "where run directories are")->default_val("lab-runs");
  app.add_option("--seeds", arguments.seeds, "other seeds than the preset's")->delimiter(',');
}

void add_training_options(CLI::App& app, RunArguments& arguments) {
  app.add_option("--data", arguments.data, "a data set by name; what the preset says unless given");
  add_data_folder(app, arguments.data_folder);
  app.add_option("--threads", arguments.threads, "of this process; two processes do more")
      ->default_val(1)
      ->check(CLI::Range(1, 1024));
  app.add_option("--device", arguments.device, "cpu or cuda")->default_val("cpu");
}

void declare_cost(CLI::App& root, RunArguments& arguments, CostOptions& options, Command& chosen) {
  CLI::App* cost = root.add_subcommand("cost", "what a step costs as sequences grow");
  add_experiment_options(*cost, arguments);
  add_training_options(*cost, arguments);
  cost->add_option("--lengths", options.lengths, "tokens of a sequence, with commas between")
      ->delimiter(',')
      ->default_val("128,256,512")
      ->check(CLI::Range(2, 1 << 20));
  cost->add_option("--rounds", options.rounds, "steps of each encoding")
      ->default_val(5)
      ->check(CLI::Range(1, 1000));
  cost->callback([&] { chosen = [&] { return print_cost(arguments, options); }; });
}

void declare_run(CLI::App& root, RunArguments& arguments, Command& chosen) {
  CLI::App* run = root.add_subcommand("run", "train every cell that is not finished");
  add_experiments_options(*run, arguments);
  add_run_options(*run, arguments);
  add_training_options(*run, arguments);
  run->add_option("--budget", arguments.budget,
                  "processor time of all cells together, 90s, 10m or 2h: scales steps");
  run->add_flag("--data-parallel", arguments.data_parallel,
                "the processes share each cell: its batches are cut by rows");
  run->add_option("--checkpoint-every", arguments.checkpoint_every_s, "seconds of training")
      ->default_val(60)
      ->check(CLI::NonNegativeNumber);
  run->callback([&] { chosen = [&] { return run_experiment(arguments); }; });
}

void add_results_options(CLI::App& app, ResultsArguments& arguments) {
  app.add_option("EXPERIMENT", arguments.experiments,
                 "files, or names of lab/experiments/; all with finished cells, without one");
  app.add_option("--experiments", arguments.experiments_folder, "where experiments are")
      ->default_val(experiments_folder());
  app.add_option("--preset", arguments.preset, "one of their presets")->default_val("quick");
  app.add_option("--runs", arguments.runs, "where run directories are")->default_val("lab-runs");
  app.add_option("--only", arguments.only, "encodings, with commas between")->delimiter(',');
  app.add_option("--seeds", arguments.seeds, "these alone, with commas between")->delimiter(',');
  add_data_folder(app, arguments.data_folder);
}

void declare_results(CLI::App& root, ResultsArguments& arguments, Command& chosen) {
  CLI::App* results = root.add_subcommand("results", "what the finished cells reached");
  add_results_options(*results, arguments);
  results->add_flag(
      "--json", [&](std::int64_t) { arguments.form = ResultsForm::json; },
      "everything, for programs");
  results->callback([&] { chosen = [&] { return print_results(arguments); }; });
  CLI::App* report = root.add_subcommand("report", "a page of what the finished cells reached");
  add_results_options(*report, arguments);
  report->add_option("-o,--out", arguments.output, "where the page goes: one HTML file")
      ->required();
  report->add_flag("--force", arguments.force, "replace an output that exists");
  report->callback([&] { chosen = [&] { return write_report(arguments); }; });
  CLI::App* figures = root.add_subcommand("figures", "pictures and CSV of the finished cells");
  add_results_options(*figures, arguments);
  figures->add_option("-o,--out", arguments.output, "a folder; it is made where there is none")
      ->required();
  figures->add_flag("--force", arguments.force, "replace outputs that exist");
  figures->callback([&] { chosen = [&] { return write_figures(arguments); }; });
}

void declare_plan(CLI::App& root, RunArguments& arguments, Command& chosen) {
  CLI::App* plan = root.add_subcommand("plan", "the cells of a run, and how long they would take");
  add_experiments_options(*plan, arguments);
  plan->add_option("--seeds", arguments.seeds, "other seeds than the preset's")->delimiter(',');
  add_training_options(*plan, arguments);
  plan->callback([&] { chosen = [&] { return print_plan(arguments); }; });
}

void declare_sample(CLI::App& root, SampleArguments& arguments, Command& chosen) {
  CLI::App* app = root.add_subcommand("sample", "text from a finished cell, token by token");
  app->add_option("EXPERIMENT", arguments.experiment, "a file of lab/experiments/")->required();
  app->add_option("--preset", arguments.preset, "one of its presets")->default_val("quick");
  app->add_option("--encoding", arguments.encoding, "one of the preset's")->required();
  app->add_option("--seed", arguments.seed, "of the cell")->default_val(1);
  app->add_option("--runs", arguments.runs, "where run directories are")->default_val("lab-runs");
  app->add_option("--prompt", arguments.prompt, "what the text begins with")->required();
  app->add_option("--tokens", arguments.tokens, "how many bytes to add")
      ->default_val(200)
      ->check(CLI::Range(1, 1 << 20));
  app->add_option("--temperature", arguments.sampling.temperature,
                  "below 1 more of what is likely; 0: always the likeliest byte")
      ->default_val(1)
      ->check(CLI::Range(0.0, 1e3));
  app->add_option("--top-k", arguments.sampling.top_k, "of so many likeliest bytes; 0: of all")
      ->default_val(0)
      ->check(CLI::Range(0, 256));
  app->add_option("--sample-seed", arguments.sample_seed, "another seed, another text")
      ->default_val(1);
  app->add_flag("--check", arguments.check, "compare the logits with libtorch's");
  app->callback([&] { chosen = [&] { return sample(arguments); }; });
}

int parse_and_run(int argument_count, const char* const* arguments) {
  CLI::App root("Trains the same transformer with each position encoding.");
  root.footer(examples);
  root.set_version_flag("--version", "rotary-lab " ROTARY_VERSION_STRING);
  root.require_subcommand(1);
  RunArguments run;
  CostOptions cost;
  ResultsArguments results;
  SampleArguments sampling;
  Command chosen;
  declare_encodings(root, chosen);
  declare_run(root, run, chosen);
  declare_plan(root, run, chosen);
  declare_results(root, results, chosen);
  declare_cost(root, run, cost, chosen);
  declare_sample(root, sampling, chosen);
  try {
    root.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return root.exit(error);
    throw cli::Failure(cli::ExitCode::usage, error.what());
  }
  return chosen();
}

int report(const std::string& message, cli::ExitCode code) {
  print_note("rotary-lab: {}\n", cli::printable(message));
  return static_cast<int>(code);
}

}  // namespace

int run(int argument_count, const char* const* arguments) noexcept {
  try {
    return parse_and_run(argument_count, arguments);
  } catch (const cli::Failure& failure) {
    return report(failure.what(), failure.exit_code());
  } catch (const std::exception& error) {
    return report(error.what(), cli::ExitCode::internal);
  }
}

}  // namespace rotary::lab
