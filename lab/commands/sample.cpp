// SPDX-License-Identifier: Apache-2.0
#include "lab/commands/sample.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "lab/commands/progress.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiment.hpp"
#include "lab/experiment/json_object.hpp"
#include "lab/torch/generate.hpp"

namespace rotary::lab {
namespace {

using cli::ExitCode;
using cli::Failure;

constexpr std::uint64_t config_bytes_limit = 1 << 20;

// Drops the training settings, which --budget may have changed and the sampler does not need.
std::string without_training(nlohmann::json config) {
  config.erase("training");
  return config.dump();
}

// The cell as the experiment now describes it, with the data that it was trained on.
Cell find_cell(const SampleArguments& arguments, const std::string& folder, Cell cell) {
  const std::string path = folder + "/config.json";
  if (!std::filesystem::exists(folder + "/done.json")) {
    throw Failure(ExitCode::usage,
                  fmt::format("{} must be a finished cell; rotary-lab run {} --preset {} --only {} "
                              "--seeds {} trains it",
                              folder, arguments.experiment, arguments.preset, arguments.encoding,
                              arguments.seed));
  }
  const std::string trained = cli::read_file(path, config_bytes_limit);
  const nlohmann::json config = parse_json(trained, path);
  JsonObject object(config, path);
  JsonObject data = object.object("data");
  cell.data = data.text("name");
  cell.data_sha256 = data.text("sha256");
  if (cell.start && object.has("start")) cell.start_sha256 = object.object("start").text("sha256");
  const std::string differs =
      difference(without_training(config), without_training(parse_json(config_of(cell), path)));
  if (differs.empty()) return cell;
  throw Failure(ExitCode::usage, fmt::format("{}: {}", folder, differs));
}

}  // namespace

int sample(const SampleArguments& arguments) {
  const Experiment experiment = load_experiment(arguments.experiment);
  const std::vector<Cell> cells = cells_of(
      experiment,
      {.preset = arguments.preset, .only = {arguments.encoding}, .seeds = {arguments.seed}});
  if (cells.empty()) {
    throw Failure(ExitCode::usage, fmt::format("--encoding must be one of the preset's, got '{}'",
                                               arguments.encoding));
  }
  const std::string folder =
      (std::filesystem::path(arguments.runs) / folder_of(cells.front())).string();
  const Cell cell = find_cell(arguments, folder, cells.front());
  if (arguments.text.prompt.empty()) throw Failure(ExitCode::usage, "--prompt must have a byte");
  const Generated made = generate(cell, folder + "/checkpoint.pt", arguments.text);
  print_answer("{}\n", made.text);
  if (arguments.text.check) {
    print_note(
        "{} tokens one after the other: logits differ from libtorch's by at most {:.2g}; the "
        "largest logit is {:.3g}\n",
        made.fed, made.difference, made.largest);
  }
  return 0;
}

}  // namespace rotary::lab
