// SPDX-License-Identifier: Apache-2.0
#include "lab/experiment/cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/failure.hpp"
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
  return {{"steps", training.steps},
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
}

void check_names(const Preset& preset, const Selection& selection) {
  for (const std::string& name : selection.only) {
    const bool known = std::ranges::any_of(
        preset.encodings, [&](const json& settings) { return settings["name"] == json(name); });
    if (known) continue;
    throw cli::Failure(cli::ExitCode::usage,
                       fmt::format("--only must name encodings of the preset, got '{}'", name));
  }
}

}  // namespace

std::vector<Cell> cells_of(const Experiment& experiment, const Selection& selection) {
  const Preset& preset = find_preset(experiment, selection.preset);
  check_names(preset, selection);
  std::vector<Cell> cells;
  for (const std::uint64_t seed : selection.seeds.empty() ? preset.seeds : selection.seeds) {
    for (const json& settings : preset.encodings) {
      Encoding encoding = parse_encoding(settings, preset.model.head_dim());
      if (!selection.only.empty() &&
          std::ranges::find(selection.only, encoding.name) == selection.only.end()) {
        continue;
      }
      cells.push_back({.experiment = experiment.name,
                       .preset = selection.preset,
                       .seed = seed,
                       .encoding_settings = settings,
                       .encoding = std::move(encoding),
                       .model = preset.model,
                       .training = preset.training,
                       .data = {},
                       .data_sha256 = {}});
    }
  }
  return cells;
}

std::string config_of(const Cell& cell) {
  const json config = {{"schema_version", 1},
                       {"experiment", cell.experiment},
                       {"preset", cell.preset},
                       {"seed", cell.seed},
                       {"encoding", cell.encoding_settings},
                       {"model", to_json(cell.model)},
                       {"training", to_json(cell.training)},
                       {"data", {{"name", cell.data}, {"sha256", cell.data_sha256}}}};
  return config.dump(2) + "\n";
}

std::string folder_of(const Cell& cell) {
  return fmt::format("{}-{}/{}/seed-{}", cell.experiment, cell.preset, cell.encoding.name,
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

}  // namespace rotary::lab
