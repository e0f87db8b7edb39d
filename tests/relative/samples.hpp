// SPDX-License-Identifier: Apache-2.0
// Relative encodings with 3 heads (not a power of two), and views of tensors as scores.
#pragma once

#include <string>
#include <vector>

#include "reference/relative.hpp"
#include "rotary/cope.hpp"
#include "rotary/relative_bias.hpp"
#include "rotary/shaw.hpp"
#include "support/tensor.hpp"

namespace rotary::test {

struct Sample {
  std::string name;
  RelativeBias bias;
};

inline constexpr std::int64_t sample_heads = 3;

// The samples' tables are static.
[[nodiscard]] std::vector<Sample> samples();

// Samples read this [32][3] table; tests may change it.
[[nodiscard]] std::vector<double>& sample_table();

[[nodiscard]] inline Shape scores_shape(DType dtype, std::int64_t queries, std::int64_t keys,
                                        Layout layout = Layout::bhtd) {
  return {.dtype = dtype,
          .extents = {.batch = 1, .tokens = queries, .heads = sample_heads, .features = keys},
          .layout = layout};
}

// Tokens become queries, features become keys.
[[nodiscard]] ScoresView scores_of(const HeadsView& view);
[[nodiscard]] ConstScoresView scores_of(const ConstHeadsView& view);

// Uniform in [-1, 1).
[[nodiscard]] std::vector<double> random_numbers(std::int64_t count, std::uint64_t seed);

[[nodiscard]] ConstTableView matrix_of_rows(const std::vector<double>& values, std::int64_t rows);

}  // namespace rotary::test
