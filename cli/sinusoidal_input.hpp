// SPDX-License-Identifier: Apache-2.0
// Makes a sinusoidal encoding from a name and options, and its rows at listed positions. Failures
// name the option, the requirement and the value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/json.hpp"
#include "apps/npy/npy.hpp"
#include "cli/arguments.hpp"
#include "rotary/absolute.hpp"

namespace rotary::cli {

// The names of known models, then "sinusoidal", whose layout and spacing are options.
[[nodiscard]] std::vector<std::string_view> sinusoidal_names();

struct SinusoidalOptions {
  std::optional<SinusoidalLayout> layout = {};
  std::optional<SinusoidalSpacing> spacing = {};
  std::optional<double> base = {};
  std::optional<std::int64_t> offset = {}, padding_idx = {};
};

// The name that the user gave, and the option for it.
struct SinusoidalName {
  std::string_view option;
  std::string_view name;
};

[[nodiscard]] SinusoidalSpec read_sinusoidal(const SinusoidalName& like,
                                             const SinusoidalOptions& options, std::int64_t dim);

// Options for rows without embeddings: --dim, --positions, --dtype and --out.
struct RowsRequest {
  std::int64_t dim = 0;
  PositionList positions;
  DType dtype = DType::f32;
  std::optional<std::string> out;
};

struct SinusoidalRows {
  SinusoidalSpec spec;
  DType dtype = DType::f32;
  std::vector<std::int64_t> positions;
  NpyArray numbers;  // [positions, dim]
};

[[nodiscard]] SinusoidalRows make_rows(const SinusoidalName& like, const SinusoidalOptions& options,
                                       const RowsRequest& request);

// A line for each row, in f32 or f64.
[[nodiscard]] std::string rows_text(const SinusoidalRows& rows);

[[nodiscard]] Json sinusoidal_json(std::string_view name, const SinusoidalSpec& spec);

// "sinusoidal sin_then_cos, spacing ends, base 10000, offset 0"
[[nodiscard]] std::string sinusoidal_text(const SinusoidalSpec& spec);

}  // namespace rotary::cli
