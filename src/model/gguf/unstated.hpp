// SPDX-License-Identifier: Apache-2.0
// Finds what a GGUF file cannot say of the checkpoint that it was made from, what it lacks, and
// what it says in vain.
#pragma once

#include <string>
#include <vector>

#include "model/gguf/rotary_of_layers.hpp"

namespace rotary {

[[nodiscard]] std::vector<std::string> unstated_in(const GgufModelFile& file);

// Warns of YaRN's keys that llama.cpp does not read although the converter writes them, and of
// tensors that llama.cpp would refuse to load the file without.
void warn_about_yarn(const GgufModelFile& file);

// Warns of lengths, factors and tensors that cannot all be meant.
void warn_about_contradictions(const GgufModelFile& file);

// Warns of flags without effect.
void warn_about_flags(const GgufModelFile& file);

// Warns of keys about rope and attention that no reader before looked for and that llama.cpp does
// not read for something else.
void warn_about_unread(const GgufModelFile& file);

}  // namespace rotary
