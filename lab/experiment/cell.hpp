// SPDX-License-Identifier: Apache-2.0
// Cell: one arm of an experiment, one seed, one training. Everything that decides its result is in
// its configuration, a JSON text; the SHA-256 of that text is its identity.
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
  std::string name;  // of its arm
  nlohmann::json encoding_settings;
  Encoding encoding;
  ModelConfig model;
  TrainingConfig training;
  std::optional<Start> start = {};
  std::string start_sha256 = {};  // of the configuration of the cell that it starts from
  std::string data;
  std::string data_sha256;
  std::string pieces_sha256 = {};  // of pairs: of the model of their pieces
};

// The cells to run: a preset's arms × seeds, all arms of the first seed first. `only`: the
// encodings of these names; empty: all.
struct Selection {
  std::string preset;
  std::vector<std::string> only;
  std::vector<std::uint64_t> seeds;  // empty: those of the preset
};

[[nodiscard]] std::vector<Cell> cells_of(const Experiment& experiment, const Selection& selection);

// Keys in alphabetical order, a line end.
[[nodiscard]] std::string config_of(const Cell& cell);

// EXPERIMENT-PRESET/NAME/seed-N
[[nodiscard]] std::string folder_of(const Cell& cell);

// The folder of the cell that it starts from; "" if it starts from none.
[[nodiscard]] std::string start_folder_of(const Cell& cell);

// "training.steps must be 250 as when the run began, got 300": the first difference of two
// configurations, "" where there is none.
[[nodiscard]] std::string difference(const std::string& began, const std::string& now);

// Estimates of a cell's computation and memory from its sizes, good enough to tell minutes from
// weeks.
// Floating-point operations of the matrix products in a training step, forward once and backward
// twice.
[[nodiscard]] double flops_of_step(const Cell& cell) noexcept;

// Peak bytes of training: weights, gradients, the two moments of AdamW, and the values that the
// forward pass keeps for the backward one.
[[nodiscard]] double bytes_of_training(const Cell& cell) noexcept;

}  // namespace rotary::lab
