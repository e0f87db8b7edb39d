// SPDX-License-Identifier: Apache-2.0
// Converts runs of a token's features to doubles, exactly, and back with one rounding to nearest
// even. This is portable code and not a kernel, because embeddings are read once per forward pass
// (docs/decisions.md, 0009).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "rotary/tensor_view.hpp"

namespace rotary {

// Features processed at a time, on the stack.
inline constexpr std::int64_t run_features = 128;
using RunValues = std::array<double, run_features>;

// count <= run_features elements of a view. stride: in elements.
template <class Byte>
struct ElementRunOf {
  Byte* data;
  DType dtype;
  std::int64_t stride;
  std::int64_t count;
};
using ElementRun = ElementRunOf<std::byte>;
using ConstElementRun = ElementRunOf<const std::byte>;

// Features [feature, feature + count) of one token, or of one row of a table.
[[nodiscard]] ElementRun run_of(const TokensView& view, std::int64_t batch, std::int64_t token,
                                std::int64_t feature, std::int64_t count) noexcept;
[[nodiscard]] ConstElementRun run_of(const ConstTokensView& view, std::int64_t batch,
                                     std::int64_t token, std::int64_t feature,
                                     std::int64_t count) noexcept;

void load_run(const ConstElementRun& from, double* to) noexcept;
void store_run(const double* from, const ElementRun& to) noexcept;

void add_to_values(const ConstElementRun& from, RunValues& values) noexcept;

void add_to_run(const double* values, const ElementRun& to) noexcept;

// to = a + b, in double and rounded once; all have the same dtype and count. float32 results equal
// the float32 sum, because 53 bits are more than 2 * 24 + 1.
void add_runs(const ConstElementRun& a, const ConstElementRun& b, const ElementRun& to) noexcept;

}  // namespace rotary
