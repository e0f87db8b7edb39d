// SPDX-License-Identifier: Apache-2.0
// Positions on several axes by definition, token by token.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rotary/m_rope.hpp"

namespace rotary::reference {

// time, row, column
using Place = std::array<long double, 3>;

[[nodiscard]] std::vector<Place> grid(const PatchGrid& grid, std::int64_t merge);
[[nodiscard]] std::vector<Place> centred_grid(const PatchGrid& patches, std::int64_t first_frame);
[[nodiscard]] std::vector<Place> area_scaled(const PatchGrid& patches, double area);
[[nodiscard]] long double sample(const AxisRegion& region, std::int64_t index);
[[nodiscard]] std::vector<std::int64_t> window_order(const PatchGrid& patches,
                                                     const WindowOrder& order);

// Ids [tokens][4]; unused axes are 0. Omits the tokens of sound and sliced images.
[[nodiscard]] std::vector<std::array<std::int64_t, 4>> m_rope(std::span<const TokenGroup> groups,
                                                              const MRopeConvention& convention);

}  // namespace rotary::reference
