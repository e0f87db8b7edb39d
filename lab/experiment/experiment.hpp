// SPDX-License-Identifier: Apache-2.0
// Experiment: the encodings to compare and the sizes of models, read from a file of experiments/.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/experiment/model_config.hpp"

namespace rotary::lab {

// Training by AdamW (Loshchilov and Hutter 2019). The learning rate rises during warmup_steps, then
// falls as a cosine to final_fraction of its maximum.
struct TrainingConfig {
  std::int64_t steps = 0;
  std::int64_t batch = 0;  // sequences per step
  double learning_rate = 0;
  std::int64_t warmup_steps = 0;
  double final_fraction = 0;
  double weight_decay = 0;  // for matrices; none for vectors and learned encodings
  double beta2 = 0;
  double clip_norm = 0;  // of all gradients together
  std::int64_t validate_every = 0;
  std::int64_t validation_rows = 0;
  // Lengths of the sequences that validate the finished model, in multiples of evaluate_unit.
  std::vector<std::int64_t> evaluate_lengths = {};
  // In tokens; 0: the trained length.
  std::int64_t evaluate_unit = 0;
  // Names in rescaling_rules. At each multiple above 1, rotary encodings without a scaling rule are
  // also validated with each of these rules.
  std::vector<std::string> rescale = {};
  // If not empty, nothing is trained: the cost of a step is measured at these lengths in tokens,
  // over `steps` steps each.
  std::vector<std::int64_t> cost_lengths = {};
  // Above 0: records each step's loss and gradient norm (StepSeries). A spike is a value far above
  // this many previous values. A loss that is not finite is then a result, not a failure.
  std::int64_t spike_window = 0;
  // Above 0: examines the finished model pair by pair (PairInfluence) on this many sequences.
  std::int64_t pair_rows = 0;
};

[[nodiscard]] double learning_rate_at(const TrainingConfig& training, std::int64_t step) noexcept;

// A finished cell of the same preset and seed, whose weights another cell starts with.
struct Start {
  std::string experiment;
  std::string encoding;  // its arm's name
};

// One alternative of a preset. Its JSON entry has an encoding's settings. It may also have "seeds",
// "start", and "model" and "training" with the differences from the preset.
struct Arm {
  std::string name;
  std::string family = {};  // shared by arms that differ only in learning rate; "": none
  nlohmann::json encoding;  // as encoding_settings() returns them
  ModelConfig model;
  TrainingConfig training;
  std::optional<Start> start;
  std::vector<std::uint64_t> seeds;
};

// In JSON, "learning_rates": [0.001, 0.002] turns the encoding rope into the arms rope-lr-0.001 and
// rope-lr-0.002 of the family rope.
struct Preset {
  std::string data;  // data set name, unless the user names another
  std::vector<Arm> arms;
};

// The JSON also has "claims" and "paper" for lab/results.
struct Experiment {
  std::string name;
  std::string title;
  std::string mirrors;  // the paper's figure or table that it repeats
  std::map<std::string, Preset> presets;
};

// Checks everything, including encodings. Messages call the text `source`.
[[nodiscard]] Experiment parse_experiment(std::string_view text, const std::string& source);

[[nodiscard]] Experiment load_experiment(const std::string& path);

// Whether the arm or its family has this name.
[[nodiscard]] bool is_called(const Arm& arm, std::string_view name);

// Fails if no preset has this name; the message lists the presets.
[[nodiscard]] const Preset& find_preset(const Experiment& experiment, const std::string& name);

}  // namespace rotary::lab
