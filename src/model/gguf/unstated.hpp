// SPDX-License-Identifier: Apache-2.0
// Finds what a GGUF file cannot state about the checkpoint it was made from, what it lacks, and
// what it states without effect.
#pragma once

#include <string>
#include <vector>

#include "model/gguf/rotary_of_layers.hpp"

namespace rotary {

[[nodiscard]] std::vector<std::string> unstated_in(const GgufModelFile& file);

// Warns about keys of YaRN that the converter writes and llama.cpp does not read, and about missing
// tensors without which llama.cpp refuses to load the file.
void warn_about_yarn(const GgufModelFile& file);

// Warns about lengths, factors and tensors that contradict each other.
void warn_about_contradictions(const GgufModelFile& file);

void warn_about_flags(const GgufModelFile& file);

// Warns about keys of rope and attention that no reader has looked for and that llama.cpp does not
// read for anything else. Call last.
void warn_about_unread(const GgufModelFile& file);

}  // namespace rotary
