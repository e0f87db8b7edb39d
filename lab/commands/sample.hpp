// SPDX-License-Identifier: Apache-2.0
// sample: generates text from a finished cell.
#pragma once

#include <cstdint>
#include <string>

#include "lab/torch/generate.hpp"

namespace rotary::lab {

struct SampleArguments {
  std::string experiment;  // a file
  std::string preset;
  std::string encoding;
  std::string runs;  // a folder
  std::uint64_t seed = 1;
  GenerateOptions text;
};

// Prints the prompt and its continuation. With text.check: prints on stderr how far the logits are
// from libtorch's.
int sample(const SampleArguments& arguments);

}  // namespace rotary::lab
