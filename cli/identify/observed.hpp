// SPDX-License-Identifier: Apache-2.0
// The numbers that `rotary identify` looks at, from whichever files hold them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/identify/arrays.hpp"
#include "rotary/identify.hpp"

namespace rotary::cli {

// One way to read the axes of an array of heads.
struct HeadsLayout {
  std::string_view name;  // "bthd"
  Extents extents;
  Strides strides;
};

// Those that the shape allows: b batch, t tokens, h heads, d features, which are last. With a name
// that one alone. tokens: how many there must be, if it is known.
[[nodiscard]] std::vector<HeadsLayout> layouts_of(const std::vector<std::int64_t>& shape,
                                                  const std::optional<std::string>& name,
                                                  std::optional<std::int64_t> tokens);

// identify() with each layout; the one that explains most.
struct IdentifiedLayout {
  Identification found;
  std::string layout;
};
[[nodiscard]] IdentifiedLayout identify_heads(const FloatArray& before, const FloatArray& after,
                                              const std::vector<HeadsLayout>& layouts,
                                              const IdentifyOptions& options);

// Whether one explains more than the other.
[[nodiscard]] bool is_better(const Identification& one, const Identification& other);

// cos and sin [tokens, pairs], axes of 1 in front left out; each pair may be there twice.
[[nodiscard]] Identification identify_tables(const FloatArray& cosines, const FloatArray& sines,
                                             const IdentifyOptions& options);

}  // namespace rotary::cli
