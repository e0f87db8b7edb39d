// SPDX-License-Identifier: Apache-2.0
// Cell: one training of one arm with one seed. Its configuration, a JSON text, decides its result;
// the text's SHA-256 is its identity.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/encodings/encoding.hpp"
#include "lab/experiment/experiment.hpp"
#include "lab/experiment/model_config.hpp"

namespace rotary::lab {

struct Cell {
  std::string experiment;
  std::string preset;
  std::uint64_t seed = 0;
  std::string name;  // of the arm
  nlohmann::json encoding_settings;
  Encoding encoding;
  ModelConfig model;
  TrainingConfig training;
  std::optional<Start> start = {};
  std::string start_sha256 = {};  // hash of the start cell's configuration
  std::string data = {};
  std::string data_sha256 = {};
  std::string pieces_sha256 = {};  // for pairs: hash of the pieces model
};

// Selects a preset's arms × seeds. All arms of the first seed come first. `only`: names of arms;
// empty: all.
struct Selection {
  std::string preset;
  std::vector<std::string> only;
  std::vector<std::uint64_t> seeds;  // empty: the preset's
};

[[nodiscard]] std::vector<Cell> cells_of(const Experiment& experiment, const Selection& selection);

// JSON with sorted keys and a line end.
[[nodiscard]] std::string config_of(const Cell& cell);

// EXPERIMENT-PRESET/NAME/seed-N
[[nodiscard]] std::string folder_of(const Cell& cell);

// The folder of the cell's start cell, or "".
[[nodiscard]] std::string start_folder_of(const Cell& cell);

// The first difference, such as "training.steps must be 250 as when the run began, got 300"; "" for
// equal configurations.
[[nodiscard]] std::string difference(const std::string& began, const std::string& now);

// Floating-point operations of matrix products in a training step: forward once, backward twice. A
// rough estimate, like bytes_of_training.
[[nodiscard]] double flops_of_step(const Cell& cell) noexcept;

// Peak bytes in training: weights, gradients, AdamW's two moments, values for the backward pass.
[[nodiscard]] double bytes_of_training(const Cell& cell) noexcept;

}  // namespace rotary::lab
