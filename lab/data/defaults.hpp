// SPDX-License-Identifier: Apache-2.0
// Named data sets that need not be added by hand: those that a fresh Debian machine can fetch as
// packages, and those that the presets of the experiments ask for.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lab/data/dataset.hpp"

namespace rotary::lab {

struct DefaultData {
  std::string name;
  std::string what;  // for people
  Source source;
};

[[nodiscard]] std::span<const DefaultData> default_data();

// nullptr: no such name.
[[nodiscard]] const DefaultData* find_default(std::string_view name);

// Whether the folder of data sets has this one.
[[nodiscard]] bool has_dataset(const std::string& folder, const std::string& name);

// The data set of a preset's run, and the reason if it is not the preset's own, else "".
struct DataChoice {
  std::string name;
  std::string reason = {};
};

// The use of a text: one stream of it can be replaced by the grammar's, pairs of sentences and
// documents with their sections cannot.
enum class DataUse { language_model, other };

// `asked`, the value of --data, if there is one; else the preset's own data set if the folder has
// it, else the grammar. Fails, saying how to get the data, if the grammar cannot replace it.
[[nodiscard]] DataChoice choose_data(const std::string& folder, const std::string& asked,
                                     const std::string& of_preset, DataUse use);

}  // namespace rotary::lab
