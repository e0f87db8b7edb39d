// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "apps/failure.hpp"
#include "apps/printable.hpp"
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

// Replaces this process by the script, so it exits with the script's code.
int become_results(const std::string& command, const std::vector<std::string>& options) {
  std::vector<std::string> words = {"/usr/bin/python3", "-B", results_folder(), command};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  (void)execvp(arguments[0], arguments.data());
  throw cli::Failure(cli::ExitCode::io, "/usr/bin/python3 must exist: it reads finished cells");
}

// The options of run and plan.
void add_cell_options(CLI::App& app, RunArguments& arguments) {
  app.add_option("EXPERIMENT", arguments.experiments,
                 "files, or names in the folder; default: all that have the preset");
  app.add_option("--experiments", arguments.experiments_folder, "the folder of experiments")
      ->default_val(experiments_folder());
  app.add_option("--preset", arguments.preset, "one of its presets")->default_val("quick");
  app.add_option("--only", arguments.only, "encodings, with commas between")->delimiter(',');
  app.add_option("--seeds", arguments.seeds, "other seeds than the preset's")->delimiter(',');
  app.add_option("--data", arguments.data, "a data set by name; otherwise the preset's");
  app.add_option("--data-dir", arguments.data_folder, "where data sets are kept")
      ->default_val("lab-data");
  app.add_option("--threads", arguments.threads,
                 "of this process; two processes do more than two threads")
      ->default_val(1)
      ->check(CLI::Range(1, 1024));
  app.add_option("--device", arguments.device, "cpu or cuda")->default_val("cpu");
}

void declare_run(CLI::App& root, RunArguments& arguments, Command& chosen) {
  CLI::App* run = root.add_subcommand("run", "train every cell that is not finished");
  add_cell_options(*run, arguments);
  run->add_option("--runs", arguments.runs, "where run directories are")->default_val("lab-runs");
  run->add_option("--budget", arguments.budget,
                  "processor time of all cells, such as 90s, 10m or 2h: scales steps");
  run->add_flag("--data-parallel", arguments.data_parallel,
                "the processes share each cell: each takes some rows of a batch");
  run->add_option("--checkpoint-every", arguments.checkpoint_every_s, "seconds of training")
      ->default_val(60)
      ->check(CLI::NonNegativeNumber);
  run->callback([&] { chosen = [&] { return run_experiment(arguments); }; });
}

// Adds the commands of lab/results, which read finished cells and parse their own options.
void declare_results(CLI::App& root, Command& chosen) {
  for (const auto& [name, help] :
       {std::pair("results", "losses and verdicts of the finished cells"),
        std::pair("report", "a page of losses and verdicts"),
        std::pair("figures", "pictures and CSV of the finished cells")}) {
    CLI::App* app = root.add_subcommand(name, help);
    app->prefix_command();
    app->set_help_flag();
    app->callback([&chosen, app] {
      chosen = [app] { return become_results(app->get_name(), app->remaining()); };
    });
  }
}

void declare_plan(CLI::App& root, RunArguments& arguments, Command& chosen) {
  CLI::App* plan = root.add_subcommand("plan", "the cells of a run, and how long they would take");
  add_cell_options(*plan, arguments);
  plan->callback([&] { chosen = [&] { return print_plan(arguments); }; });
}

void declare_sample(CLI::App& root, SampleArguments& arguments, Command& chosen) {
  CLI::App* app = root.add_subcommand("sample", "text from a finished cell, token by token");
  app->add_option("EXPERIMENT", arguments.experiment, "a file of lab/experiments/")->required();
  app->add_option("--preset", arguments.preset, "one of its presets")->default_val("quick");
  app->add_option("--encoding", arguments.encoding, "one of the preset's")->required();
  app->add_option("--seed", arguments.seed, "of the cell")->default_val(1);
  app->add_option("--runs", arguments.runs, "where run directories are")->default_val("lab-runs");
  app->add_option("--prompt", arguments.text.prompt, "what the text begins with")->required();
  app->add_option("--tokens", arguments.text.tokens, "how many bytes to add")
      ->default_val(200)
      ->check(CLI::Range(1, 1 << 20));
  app->add_option("--temperature", arguments.text.sampling.temperature,
                  "below 1 favours likely bytes; 0 takes the likeliest")
      ->default_val(1)
      ->check(CLI::Range(0.0, 1e3));
  app->add_option("--top-k", arguments.text.sampling.top_k,
                  "draw from this many likeliest bytes; 0: from all")
      ->default_val(0)
      ->check(CLI::Range(0, 256));
  app->add_option("--sample-seed", arguments.text.seed, "another seed gives another text")
      ->default_val(1);
  app->add_flag("--check", arguments.text.check, "compare the logits with libtorch's");
  app->callback([&] { chosen = [&] { return sample(arguments); }; });
}

int parse_and_run(int argument_count, const char* const* arguments) {
  CLI::App root("Trains the same transformer with each position encoding.");
  root.footer(examples);
  root.set_version_flag("--version", "rotary-lab " ROTARY_VERSION_STRING);
  root.require_subcommand(1);
  RunArguments run;
  SampleArguments sampling;
  Command chosen;
  root.add_subcommand("encodings", "every encoding by name, with its settings")
      ->callback([&chosen] { chosen = list_encodings; });
  declare_run(root, run, chosen);
  declare_plan(root, run, chosen);
  declare_results(root, chosen);
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
