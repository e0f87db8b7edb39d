// SPDX-License-Identifier: Apache-2.0
// Experiment: the encodings to compare, their sizes, and the claims about them; read from a file of
// experiments/.
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

// AdamW (Loshchilov and Hutter 2019). The rate rises over warmup_steps, then falls as a cosine to
// final_fraction of its height.
struct TrainingConfig {
  std::int64_t steps = 0;
  std::int64_t batch = 0;  // sequences in a step
  double learning_rate = 0;
  std::int64_t warmup_steps = 0;
  double final_fraction = 0;
  double weight_decay = 0;  // of matrices; of vectors and learned encodings none
  double beta2 = 0;
  double clip_norm = 0;  // of all gradients together
  std::int64_t validate_every = 0;
  std::int64_t validation_rows = 0;
  // Lengths at which the finished model is validated, in multiples of the trained tokens.
  std::vector<std::int64_t> evaluate_lengths = {};
  // The tokens of a multiple of 1; 0: the trained length. Differs if a model is trained on at a
  // longer length than it began with.
  std::int64_t evaluate_unit = 0;
  // Rules of rescaling.hpp by which unscaled rotary encodings are validated again at the lengths
  // beyond the trained one, without training.
  std::vector<std::string> rescale = {};
  // Not empty: nothing is trained. The cost of a step is measured at these lengths, in tokens, over
  // `steps` steps of each.
  std::vector<std::int64_t> cost_lengths = {};
  // Above 0: the loss and the norm of the gradients of each step are watched (StepSeries), a spike
  // is judged by this many steps before it, and a training that breaks is a result, not a failure.
  std::int64_t spike_window = 0;
  // Above 0: the finished model is examined pair by pair (PairInfluence) on this many sequences.
  std::int64_t pair_rows = 0;
};

[[nodiscard]] double learning_rate_at(const TrainingConfig& training, std::int64_t step) noexcept;

// The finished cell, of the same preset and seed, whose weights another cell starts with.
struct Start {
  std::string experiment;
  std::string encoding;  // the name of its arm
};

// One of the alternatives that a preset compares: an encoding, and what is special about its
// training. In JSON the encoding, or an object with its keys and "model", "training" (the
// differences from the preset's), "seeds" and "start".
struct Arm {
  std::string name;
  std::string family = {};  // of arms with one encoding and other learning rates; "": none
  nlohmann::json encoding;  // settings, as encoding_settings() makes them
  ModelConfig model;
  TrainingConfig training;
  std::optional<Start> start;
  std::vector<std::uint64_t> seeds;
};

// In JSON "learning_rates": [0.001, 0.002] turns the encoding rope into the arms rope-lr-0.001 and
// rope-lr-0.002, of the family rope.
struct Preset {
  std::string data;  // a data set by name, unless the user names another
  std::vector<Arm> arms;
};

// Its file also has "claims" and "paper", which lab/results reads.
struct Experiment {
  std::string name;
  std::string title;
  std::string mirrors;  // the figure or table of a paper
  std::map<std::string, Preset> presets;
};

// Messages call the text `source`. Everything is checked, encodings included.
[[nodiscard]] Experiment parse_experiment(std::string_view text, const std::string& source);

[[nodiscard]] Experiment load_experiment(const std::string& path);

// Whether this is its name, or that of its family.
[[nodiscard]] bool is_called(const Arm& arm, std::string_view name);

// If there is no such preset, fails and names those that exist.
[[nodiscard]] const Preset& find_preset(const Experiment& experiment, const std::string& name);

}  // namespace rotary::lab
