// SPDX-License-Identifier: Apache-2.0
// Finds what a GGUF file cannot say of the checkpoint that it was made from, and what it lacks.
#pragma once

#include <string>
#include <vector>

#include "model/gguf/rotary_of_layers.hpp"

namespace rotary {

[[nodiscard]] std::vector<std::string> unstated_in(const GgufModelFile& file);

// Warns of keys that llama.cpp does not read although the converter writes them, and of tensors
// that llama.cpp would refuse to load the file without.
void warn_about_unread(const GgufModelFile& file);

}  // namespace rotary
