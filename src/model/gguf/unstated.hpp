// SPDX-License-Identifier: Apache-2.0
// Finds facts about the checkpoint that a GGUF file cannot state, and missing or useless keys.
#pragma once

#include <string>
#include <vector>

#include "model/gguf/rotary_of_layers.hpp"

namespace rotary {

[[nodiscard]] std::vector<std::string> unstated_in(const GgufModelFile& file);

// Warns about keys of YaRN that llama.cpp does not read, and about missing rope tensors.
void warn_about_yarn(const GgufModelFile& file);

// Warns about lengths, factors and tensors that contradict one another.
void warn_about_contradictions(const GgufModelFile& file);

void warn_about_flags(const GgufModelFile& file);

// Warns about keys of rope and attention that neither this code nor llama.cpp reads. Call last.
void warn_about_unread(const GgufModelFile& file);

}  // namespace rotary
