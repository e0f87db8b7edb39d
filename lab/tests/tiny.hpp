// SPDX-License-Identifier: Apache-2.0
// An experiment with every named encoding. Each of its cells trains in a tenth of a second.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/data/dataset.hpp"
#include "lab/encodings/encoding.hpp"
#include "lab/experiment/cell.hpp"
#include "lab/experiment/experiment.hpp"
#include "lab/runs/run_directory.hpp"
#include "lab/tests/made_documents.hpp"
#include "lab/tests/temporary_folder.hpp"
#include "lab/torch/train_cell.hpp"

namespace rotary::lab {

inline std::string tiny_json(std::string_view task, int steps = 30) {
  std::string names;
  for (const NamedEncoding& each : named_encodings())
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", each.name);
  return fmt::format(
      R"({{"schema_version": 1, "name": "tiny", "title": "Tiny", "mirrors": "nothing",
           "task": "{}", "claims": [],
           "presets": {{"quick": {{
             "model": {{"d_model": 32, "layers": 2, "heads": 2, "tokens": 32}},
             "training": {{"steps": {}, "batch": 8, "learning_rate": 0.003, "warmup_steps": 5,
                          "validate_every": 10, "validation_rows": 8,
                          "evaluate_lengths": [1, 2],
                          "rescale": ["linear", "yarn"]}},
             "seeds": [1], "encodings": [{}]}}}}}})",
      task, steps, names);
}

// The text with the first occurrence of `what` replaced.
inline std::string replaced(std::string text, std::string_view what, std::string_view by) {
  text.replace(text.find(what), what.size(), by);
  return text;
}

inline std::vector<Cell> tiny_cells(std::string_view task, std::vector<std::string> only = {},
                                    int steps = 30) {
  return cells_of(parse_experiment(tiny_json(task, steps), "tiny.json"),
                  {.preset = "quick", .only = std::move(only), .seeds = {}});
}

inline const Dataset& small_data() {
  static const Dataset data = split({.name = "small"}, made_text(5, 60'000));
  return data;
}

inline const Dataset& small_pairs() {
  static const Dataset data = made_pairs(5, 2000);
  return data;
}

// A log's columns that do not depend on the clock: step, tokens, both losses and the rate.
inline std::vector<std::string> losses_of(const std::string& folder) {
  std::vector<std::string> rows;
  std::istringstream log(read_text(folder + "/log.csv"));
  for (std::string line; std::getline(log, line);) {
    std::size_t end = 0;
    for (int comma = 0; comma < 5; ++comma) end = line.find(',', end) + 1;
    rows.push_back(line.substr(0, end));
  }
  return rows;
}

// Trains cells on one thread, in the test's own folder.
class Trained : public testing::Test {
 protected:
  Trained() { set_threads(1); }

  RunDirectory claim(const std::string& root, const Cell& cell) {
    return *RunDirectory::claim(folder_ / root, cell);
  }
  Outcome train(const std::string& root, const Cell& cell, const Dataset& data,
                const TrainOptions& options = {}) {
    RunDirectory directory = claim(root, cell);
    return train_cell(cell, data, directory, options).value();
  }

  ScratchFolder folder_;
};

}  // namespace rotary::lab
