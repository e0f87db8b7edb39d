// SPDX-License-Identifier: Apache-2.0
// Frequencies, or rows of cos and sin, that a program saved as NumPy arrays.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rotary/frequencies.hpp"
#include "rotary/model_difference.hpp"
#include "rotary/model_spec.hpp"

namespace rotary::cli {

// Rows of positions 0, 1, …
struct RowsTable {
  std::int64_t tokens = 0;
  std::int64_t pairs = 0;
  std::vector<double> cos;  // [tokens][pairs], times A
  std::vector<double> sin;
};

struct Dump {
  std::vector<double> inv_freq;  // [pairs]; empty: the file has rows
  double attention_factor = 1;
  RowsTable rows;
};

// By its name: .npy or .npz.
[[nodiscard]] bool names_dump(const std::string& path);

// An .npz with inv_freq, and attention_scaling where it is not 1, or with cos and sin; an .npy with
// frequencies [pairs], rows [2][tokens][pairs] of cos and sin, or complex numbers [tokens][pairs].
// Rows may have each pair twice, in halves or next to each other; axes of 1 in front do not count.
[[nodiscard]] Dump read_dump(const std::string& path);

[[nodiscard]] RowsTable rows_of(const Frequencies& frequencies, std::int64_t tokens);

// A model with one embedding: the window and length of `like`, else a half pairing. Requires
// frequencies. Usage failure for another number of pairs.
[[nodiscard]] ModelSpec model_of(const Dump& dump, const ModelRotary* like);

// At the positions that both have. Usage failure where they have other numbers of pairs.
[[nodiscard]] RowsDifference compare_tables(const RowsTable& one, const RowsTable& other);

}  // namespace rotary::cli
