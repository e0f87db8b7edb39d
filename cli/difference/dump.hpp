// SPDX-License-Identifier: Apache-2.0
// NumPy arrays that a program saved: frequencies, or rows of cos and sin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/model_difference.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

// Rows for the positions 0, 1, …
struct RowsTable {
  std::int64_t tokens = 0;
  std::int64_t pairs = 0;
  std::vector<double> cos = {};  // [tokens][pairs], times the attention factor
  std::vector<double> sin = {};
};

struct Dump {
  std::vector<double> inv_freq;  // [pairs]; empty if the file has rows
  double attention_factor = 1;
  RowsTable rows;
};

// True for names that end in .npy or .npz.
[[nodiscard]] bool names_dump(const std::string& path);

// An .npz has inv_freq, and attention_scaling if it is not 1; or cos and sin, with ignored leading
// dimensions of 1. An .npy has frequencies [pairs], cos and sin [2][tokens][pairs], or complex
// numbers [tokens][pairs]. cos and sin may have each pair twice, in halves or side by side.
[[nodiscard]] Dump read_dump(const std::string& path);

[[nodiscard]] RowsTable rows_of(const Frequencies& frequencies, std::int64_t tokens);

// Makes a model with one embedding from the dump, which must have frequencies. `like` gives the
// window and trained context; without `like`, the pairing is half. Fails as wrong usage if `like`
// has another number of pairs.
[[nodiscard]] ModelSpec model_of(const Dump& dump, const ModelRotary* like);

// Compares the positions that are in both tables. Fails as wrong usage if the tables' numbers of
// pairs differ.
[[nodiscard]] RowsDifference compare_tables(const RowsTable& one, const RowsTable& other);

}  // namespace rotary::cli
