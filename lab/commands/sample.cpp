// SPDX-License-Identifier: Apache-2.0
#include "lab/commands/sample.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "apps/failure.hpp"
#include "apps/files.hpp"
#include "lab/commands/progress.hpp"
#include "lab/data/batches.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiment.hpp"
#include "lab/experiment/json_object.hpp"
#include "lab/generate/decoder.hpp"
#include "lab/torch/read_weights.hpp"

namespace rotary::lab {
namespace {

using cli::ExitCode;
using cli::Failure;

constexpr std::uint64_t config_bytes_limit = 1 << 20;

// Ignores the training, which --budget may have changed and the sampler does not need.
std::string without_training(nlohmann::json config) {
  config.erase("training");
  return config.dump();
}

// The cell as the experiment now describes it, with its training data.
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

std::vector<std::int64_t> tokens_of(const std::string& text) {
  std::vector<std::int64_t> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

struct Generated {
  std::string text;
  std::vector<std::int64_t> fed;  // the prompt and the text, except its last token
  std::vector<float> logits;      // [fed][byte_tokens]
};

Generated generate(Decoder& decoder, const SampleArguments& arguments) {
  Random random(arguments.sample_seed);
  Generated made{.text = arguments.prompt, .fed = {}, .logits = {}};
  std::vector<std::int64_t> next = tokens_of(arguments.prompt);
  for (std::int64_t n = 0; n < arguments.tokens; ++n) {
    const std::vector<float> logits = decoder.feed(next);
    made.fed.insert(made.fed.end(), next.begin(), next.end());
    made.logits.insert(made.logits.end(), logits.begin(), logits.end());
    const auto last = std::span(logits).last(static_cast<std::size_t>(byte_tokens));
    next = {choose(last, arguments.sampling, random)};
    made.text += static_cast<char>(next.front());
  }
  return made;
}

void print_check(const Generated& made, const std::vector<float>& expected) {
  double largest = 0;
  double size = 0;
  for (std::size_t n = 0; n < expected.size(); ++n) {
    const double difference = std::abs(static_cast<double>(made.logits[n]) - expected[n]);
    // NaN must win, although no comparison finds it larger.
    if (std::isnan(difference) || difference > largest) largest = difference;
    size = std::max(size, std::abs(static_cast<double>(expected[n])));
  }
  print_note(
      "{} tokens one after the other: logits differ from libtorch's by at most {:.2g}; the "
      "largest logit is {:.3g}\n",
      made.fed.size(), largest, size);
}

}  // namespace

int sample(const SampleArguments& arguments) {
  const Experiment experiment = load_experiment(arguments.experiment);
  const std::vector<Cell> cells = cells_of(
      experiment,
      {.preset = arguments.preset, .only = {arguments.encoding}, .seeds = {arguments.seed}});
  const std::string folder =
      (std::filesystem::path(arguments.runs) / folder_of(cells.front())).string();
  const Cell cell = find_cell(arguments, folder, cells.front());
  if (arguments.prompt.empty()) throw Failure(ExitCode::usage, "--prompt must have a byte");
  const std::string checkpoint = folder + "/checkpoint.pt";
  const std::int64_t capacity = std::ssize(arguments.prompt) + arguments.tokens - 1;
  Decoder decoder(cell.encoding, cell.model, read_weights(cell, checkpoint), capacity);
  const Generated made = generate(decoder, arguments);
  print_answer("{}\n", made.text);
  if (arguments.check) print_check(made, whole_logits(cell, checkpoint, made.fed));
  return 0;
}

}  // namespace rotary::lab
