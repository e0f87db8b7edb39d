// SPDX-License-Identifier: Apache-2.0
// The numbers that identify() looks at: some tokens and heads of the caller's views, as doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rotary/identify.hpp"

namespace rotary::identification {

inline constexpr std::int64_t most_tokens = 48;
inline constexpr std::int64_t most_heads = 4;

// The kind of numbers given, which decides which hypotheses can be tried.
enum class Observed { heads, rows, frequencies };

struct Sample {
  Observed observed = Observed::heads;
  DType dtype = DType::f32;
  std::size_t tokens = 0;
  std::size_t heads = 0;
  std::size_t features = 0;
  std::vector<double> before;  // [tokens][heads][features]
  std::vector<double> after;
  std::size_t axes = 1;
  // [axes][tokens]. If the positions are unknown: 0, 1, … from the first token.
  std::vector<double> positions;
  bool has_positions = true;
  std::vector<double> head_indices;  // [heads], indices in the caller's view
  double norm = 0;                   // of after

  [[nodiscard]] std::span<const double> row(const std::vector<double>& of, std::size_t token,
                                            std::size_t head) const noexcept {
    return std::span(of).subspan((token * heads + head) * features, features);
  }
  [[nodiscard]] std::span<const double> positions_on(std::size_t axis) const noexcept {
    return std::span(positions).subspan((axes == 1 ? 0 : axis) * tokens, tokens);
  }
};

// The caller's views after all checks; every element is finite.
struct Dump {
  Observed observed = Observed::heads;
  ConstHeadsView before;  // rows: cos, whose features are pairs
  ConstHeadsView after;   // rows: sin
  std::optional<Positions> positions = {};

  [[nodiscard]] std::int64_t rows() const noexcept { return before.extents.batch; }
  [[nodiscard]] std::int64_t tokens() const noexcept { return before.extents.tokens; }

  // The `count` tokens first, first + 1, ... of a batch row, with all heads. If positions are not
  // given, each row has 0, 1, ….
  [[nodiscard]] Sample part(std::int64_t row, std::int64_t first, std::int64_t count) const;
};

// Error: invalid_argument.
[[nodiscard]] Result<Dump> dump_of(const ConstHeadsView& before, const ConstHeadsView& after,
                                   const IdentifyOptions& options);

// Rows of cos and sin, treated as the result of rotating (1, 0) in each pair. Paired features are
// half a head apart.
[[nodiscard]] Result<Dump> dump_of(const CosSinView& rows, std::int64_t pairs,
                                   const IdentifyOptions& options);

// Some tokens and heads of the dump. Error: invalid_argument if these are all 0 before or after.
[[nodiscard]] Result<Sample> sample_of(const Dump& dump);

// A sample made from frequencies: their rows of cos and sin at some positions.
[[nodiscard]] Result<Sample> sample_of(std::span<const double> inv_freq, double attention_factor);

// The measured mean of |rounded - exact| / |exact| for one rounding to the dtype after a few
// roundings to float32.
[[nodiscard]] double rounding_noise(DType dtype) noexcept;

[[nodiscard]] double rounded_to(DType dtype, double value) noexcept;

}  // namespace rotary::identification
