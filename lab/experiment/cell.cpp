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

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainingConfig, steps, batch, learning_rate, warmup_steps,
                                   final_fraction, weight_decay, beta2, clip_norm, validate_every,
                                   validation_rows, evaluate_lengths, evaluate_unit, rescale,
                                   cost_lengths, spike_window, pair_rows)

namespace {

using nlohmann::json;

json model_json(const ModelConfig& model) {
  return {{"task", to_string(model.task)}, {"d_model", model.d_model},
          {"layers", model.layers},        {"heads", model.heads},
          {"tokens", model.tokens},        {"attention", to_string(model.attention)}};
}

// Leaves out optional settings that are 0 or empty, so that they do not change a cell's identity.
json training_json(const TrainingConfig& training) {
  json object = training;
  for (const char* key : {"evaluate_unit", "cost_lengths", "spike_window", "pair_rows"}) {
    if (object[key] == 0 || object[key] == json::array()) object.erase(key);
  }
  return object;
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

}  // namespace

std::vector<Cell> cells_of(const Experiment& experiment, const Selection& selection) {
  const Preset& preset = find_preset(experiment, selection.preset);
  std::vector<Cell> cells;
  for (const std::uint64_t seed : selection.seeds.empty() ? seeds_of(preset) : selection.seeds) {
    for (const Arm& arm : preset.arms) {
      const bool has_seed =
          !selection.seeds.empty() || std::ranges::find(arm.seeds, seed) != arm.seeds.end();
      if (!has_seed || !selects(selection, arm)) continue;
      cells.push_back({.experiment = experiment.name,
                       .preset = selection.preset,
                       .seed = seed,
                       .name = arm.name,
                       .encoding_settings = arm.encoding,
                       .encoding = parse_encoding(arm.encoding, arm.model.head_dim()),
                       .model = arm.model,
                       .training = arm.training,
                       .start = arm.start});
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
                 {"model", model_json(cell.model)},
                 {"training", training_json(cell.training)},
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
  // Per token about 21 vectors: norms, q, k and v before and after rotation, results of attention
  // and feed-forward. Per head and key 3 numbers: scores, weights and an added mask.
  const double kept =
      sizes.layers * (21 * sizes.d + 3 * sizes.heads * sizes.tokens) + 3 * sizes.vocabulary;
  constexpr double bytes_of_number = 4;
  return bytes_of_number * (4 * numbers + kept * sizes.tokens_of_step);
}

}  // namespace rotary::lab
