// SPDX-License-Identifier: Apache-2.0
// Generates text from a finished causal cell.
#pragma once

#include <cstdint>
#include <string>

#include "lab/experiment/cell.hpp"

namespace rotary::lab {

struct Sampling {
  double temperature = 1;  // divides logits; 0: chooses the largest
  std::int64_t top_k = 0;  // chooses among this many largest logits; 0: among all
};

struct GenerateOptions {
  std::string prompt;
  std::int64_t tokens = 0;  // to add
  Sampling sampling;
  std::uint64_t seed = 1;
  bool check = false;  // compare the logits with the model's for the full text
};

struct Generated {
  std::string text;  // the prompt and its continuation
  // With check: the number of tokens fed, the largest difference and the largest size of a logit.
  std::int64_t fed = 0;
  double difference = 0;
  double largest = 0;
};

[[nodiscard]] Generated generate(const Cell& cell, const std::string& checkpoint,
                                 const GenerateOptions& options);

}  // namespace rotary::lab
