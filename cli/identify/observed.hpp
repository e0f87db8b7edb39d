// SPDX-License-Identifier: Apache-2.0
// Reads arrays as heads or tables, and identifies their rotation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/identify/arrays.hpp"
#include "rotary/identify.hpp"

namespace rotary::cli {

inline constexpr std::array<std::string_view, 5> layout_names = {"td", "thd", "htd", "bthd",
                                                                 "bhtd"};

// One way to read the axes of an array of heads.
struct HeadsLayout {
  std::string_view name;  // "bthd"
  Extents extents;
  Strides strides;
};

// The layouts that fit the shape (b batch, t tokens, h heads, d features), or only the named one.
// tokens: their number, if known.
[[nodiscard]] std::vector<HeadsLayout> layouts_of(const FloatArray& heads,
                                                  std::optional<std::string_view> name,
                                                  std::optional<std::int64_t> tokens);

[[nodiscard]] Identification identify_heads(const FloatArray& before, const FloatArray& after,
                                            const HeadsLayout& layout,
                                            const IdentifyOptions& options);

// True if `one` explains more than `other`.
[[nodiscard]] bool is_better(const Identification& one, const Identification& other);

// cos and sin [tokens, pairs], with each pair once or twice. Leading dimensions of 1 are ignored.
[[nodiscard]] Identification identify_tables(const FloatArray& cosines, const FloatArray& sines,
                                             const IdentifyOptions& options);

}  // namespace rotary::cli
