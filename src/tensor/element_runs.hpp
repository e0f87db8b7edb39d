// SPDX-License-Identifier: Apache-2.0
// Runs of a token's features as doubles, which hold every value of every dtype, and back with one
// rounding to nearest even. Embeddings pass once through memory for each forward pass, so this is
// portable code that the compiler vectorises, not kernels:
// docs/decisions/0009-absolute-encodings-in-double.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rotary/tokens_view.hpp"

namespace rotary {

// As many features are worked on at a time, on the stack.
inline constexpr std::int64_t run_features = 128;
using RunValues = std::array<double, run_features>;

// count <= run_features elements of a view: data is that of the first, stride in elements.
struct ElementRun {
  std::byte* data;
  DType dtype;
  std::int64_t stride;
  std::int64_t count;
};
struct ConstElementRun {
  const std::byte* data;
  DType dtype;
  std::int64_t stride;
  std::int64_t count;
};

// Features [feature, feature + count) of one token, or of one row of a table.
[[nodiscard]] ElementRun run_of(const TokensView& view, std::int64_t batch, std::int64_t token,
                                std::int64_t feature, std::int64_t count) noexcept;
[[nodiscard]] ConstElementRun run_of(const ConstTokensView& view, std::int64_t batch,
                                     std::int64_t token, std::int64_t feature,
                                     std::int64_t count) noexcept;

void load_run(const ConstElementRun& from, double* to) noexcept;
void store_run(const double* from, const ElementRun& to) noexcept;

// values += from.
void add_to_values(const ConstElementRun& from, RunValues& values) noexcept;

// to = a + b, all of one dtype and as many elements: the double sum, rounded once. Of float32 that
// is the float32 sum, 53 bits being more than twice 24 and one.
void add_runs(const ConstElementRun& a, const ConstElementRun& b, const ElementRun& to) noexcept;

}  // namespace rotary
