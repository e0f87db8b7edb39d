// SPDX-License-Identifier: Apache-2.0
// sample: generates text from a finished cell.
#pragma once

#include <cstdint>
#include <string>

#include "lab/generate/dense.hpp"

namespace rotary::lab {

struct SampleArguments {
  std::string experiment;  // a file
  std::string preset;
  std::string encoding;
  std::string runs;  // a folder
  std::uint64_t seed = 1;
  std::string prompt;
  std::int64_t tokens = 0;
  Sampling sampling;
  std::uint64_t sample_seed = 1;
  bool check = false;
};

// Prints the prompt and its continuation. check: prints the logits' distance from libtorch's on
// stderr.
int sample(const SampleArguments& arguments);

}  // namespace rotary::lab
