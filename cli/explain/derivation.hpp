// SPDX-License-Identifier: Apache-2.0
// The steps of docs/theory/rope.md, under the same numbers, each computed on the query and the key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/explain/numbers.hpp"

namespace rotary::cli::explain {

struct Value {
  std::string name;
  double value;
};

struct Counterexample {
  std::string what;
  std::vector<Value> values;
};

struct Step {
  int number;
  std::string title;
  std::string equation;
  std::vector<Value> values;
  Check check;
  std::optional<Counterexample> counterexample = {};
};

// The two features of one pair: steps 1 to 7 of the derivation. Usage failure where no pair of
// query and key has a length.
[[nodiscard]] std::vector<Step> steps_of_one_pair(const Numbers& numbers);

// All features that turn: steps 8 to 12.
[[nodiscard]] std::vector<Step> steps_of_all_pairs(const Numbers& numbers);

}  // namespace rotary::cli::explain
