// SPDX-License-Identifier: Apache-2.0

#include "lab/experiment/cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/failure.hpp"
#include "lab/experiment/json_object.hpp"

namespace rotary::lab {

namespace {

using nlohmann::json;

json to_json(const ModelConfig& model) {
  return {{"task", to_string(model.task)}, {"d_model", model.d_model},
          {"layers", model.layers},        {"heads", model.heads},
          {"tokens", model.tokens},        {"attention", to_string(model.attention)}};
}

json to_json(const TrainingConfig& training) {
  json object = {{"steps", training.steps},
                 {"batch", training.batch},
                 {"learning_rate", training.learning_rate},
                 {"warmup_steps", training.warmup_steps},
                 {"final_fraction", training.final_fraction},
                 {"weight_decay", training.weight_decay},
                 {"beta2", training.beta2},
                 {"clip_norm", training.clip_norm},
                 {"validate_every", training.validate_every},
                 {"validation_rows", training.validation_rows},
                 {"evaluate_lengths", training.evaluate_lengths},
                 {"rescale", training.rescale}};
  if (training.evaluate_unit > 0) object["evaluate_unit"] = training.evaluate_unit;
  if (!training.cost_lengths.empty()) object["cost_lengths"] = training.cost_lengths;
  if (training.spike_window > 0) object["spike_window"] = training.spike_window;
  if (training.pair_rows > 0) object["pair_rows"] = training.pair_rows;
  return object;
}

void check_names(const Preset& preset, const Selection& selection) {
  for (const std::string& name : selection.only) {
    if (std::ranges::find(preset.arms, name, &Arm::name) != preset.arms.end()) continue;
    throw cli::Failure(cli::ExitCode::usage,
                       fmt::format("--only must name encodings of the preset, got '{}'", name));
  }
}

bool selects(const Selection& selection, const Arm& arm) {
  return selection.only.empty() ||
         std::ranges::find(selection.only, arm.name) != selection.only.end();
}

// Unique seeds, in the order in which arms name them.
std::vector<std::uint64_t> seeds_of(const Preset& preset) {
  std::vector<std::uint64_t> seeds;
  for (const Arm& arm : preset.arms) {
    for (const std::uint64_t seed : arm.seeds) {
      if (std::ranges::find(seeds, seed) == seeds.end()) seeds.push_back(seed);
    }
  }
  return seeds;
}

Cell make_cell(const Arm& arm, std::uint64_t seed) {
  return {.experiment = {},
          .preset = {},
          .seed = seed,
          .name = arm.name,
          .encoding_settings = arm.encoding,
          .encoding = parse_encoding(arm.encoding, arm.model.head_dim()),
          .model = arm.model,
          .training = arm.training,
          .start = arm.start,
          .start_sha256 = {},
          .data = {},
          .data_sha256 = {},
          .pieces_sha256 = {}};
}

}  // namespace

std::vector<Cell> cells_of(const Experiment& experiment, const Selection& selection) {
  const Preset& preset = find_preset(experiment, selection.preset);
  check_names(preset, selection);
  std::vector<Cell> cells;
  for (const std::uint64_t seed : selection.seeds.empty() ? seeds_of(preset) : selection.seeds) {
    for (const Arm& arm : preset.arms) {
      const bool has_seed =
          !selection.seeds.empty() || std::ranges::find(arm.seeds, seed) != arm.seeds.end();
      if (!has_seed || !selects(selection, arm)) continue;
      cells.push_back(make_cell(arm, seed));
      cells.back().experiment = experiment.name;
      cells.back().preset = selection.preset;
    }
  }
  return cells;
}

std::string config_of(const Cell& cell) {
  json config = {{"schema_version", 1},
                 {"experiment", cell.experiment},
                 {"preset", cell.preset},
                 {"seed", cell.seed},
                 {"encoding", cell.encoding_settings},
                 {"model", to_json(cell.model)},
                 {"training", to_json(cell.training)},
                 {"data", {{"name", cell.data}, {"sha256", cell.data_sha256}}}};
  if (!cell.pieces_sha256.empty()) config["data"]["pieces_sha256"] = cell.pieces_sha256;
  if (cell.start)
    config["start"] = {{"folder", start_folder_of(cell)}, {"sha256", cell.start_sha256}};
  return config.dump(2) + "\n";
}

std::string folder_of(const Cell& cell) {
  return fmt::format("{}-{}/{}/seed-{}", cell.experiment, cell.preset, cell.name, cell.seed);
}

std::string start_folder_of(const Cell& cell) {
  if (!cell.start) return {};
  return fmt::format("{}-{}/{}/seed-{}", cell.start->experiment, cell.preset, cell.start->encoding,
                     cell.seed);
}

std::string difference(const std::string& began, const std::string& now) {
  const json first = parse_json(began, "config.json").flatten();
  const json second = parse_json(now, "the configuration").flatten();
  const auto text = [](const json& object, const std::string& key) {
    return object.contains(key) ? object[key].dump() : std::string("nothing");
  };
  json keys = first;
  keys.update(second);
  for (const auto& [key, value] : keys.items()) {
    if (text(first, key) == text(second, key)) continue;
    std::string path = key.substr(1);
    std::ranges::replace(path, '/', '.');
    return fmt::format("{} must be {} as when the run began, got {}", path, text(first, key),
                       text(second, key));
  }
  return {};
}

namespace {

struct Sizes {
  double d, layers, heads, tokens, tokens_of_step, vocabulary;
};

Sizes sizes_of(const Cell& cell) noexcept {
  const ModelConfig& model = cell.model;
  return {.d = static_cast<double>(model.d_model),
          .layers = static_cast<double>(model.layers),
          .heads = static_cast<double>(model.heads),
          .tokens = static_cast<double>(model.tokens),
          .tokens_of_step =
              static_cast<double>(sequences_of(model.task) * model.tokens * cell.training.batch),
          .vocabulary = static_cast<double>(model.vocabulary())};
}

// Weights of a layer: q, k, v, the output projection, and a feed-forward of four times the width.
double matrix_numbers(const Sizes& sizes) noexcept { return 12 * sizes.d * sizes.d; }

}  // namespace

double flops_of_step(const Cell& cell) noexcept {
  const Sizes sizes = sizes_of(cell);
  // Scores and sums of values over all keys; masks save no work here.
  const double attention = 4 * sizes.tokens * sizes.d;
  const double of_token =
      sizes.layers * (2 * matrix_numbers(sizes) + attention) + 2 * sizes.d * sizes.vocabulary;
  return 3 * of_token * sizes.tokens_of_step;
}

double bytes_of_training(const Cell& cell) noexcept {
  const Sizes sizes = sizes_of(cell);
  const double numbers = sizes.layers * matrix_numbers(sizes) + 2 * sizes.d * sizes.vocabulary;
  // Per token about 21 rows: norms, q, k and v before and after rotation, results of attention and
  // feed-forward. Per head and key 3 numbers: scores, weights and an added mask.
  const double kept =
      sizes.layers * (21 * sizes.d + 3 * sizes.heads * sizes.tokens) + 3 * sizes.vocabulary;
  constexpr double bytes_of_number = 4;
  return bytes_of_number * (4 * numbers + kept * sizes.tokens_of_step);
}

}  // namespace rotary::lab
