// SPDX-License-Identifier: Apache-2.0
// Positions, or other numbers, of a view's tokens.
#pragma once

#include <cstdint>
#include <string_view>

#include "absolute/token_views.hpp"
#include "phase/fractional_phase.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "tensor/position_access.hpp"

namespace rotary {

// Checks that positions are well-formed, with one for each token of n. Positions with a batch of 1
// serve every batch row. prefix starts each message: "", or the owner of the positions.
[[nodiscard]] Status check_positions(std::string_view prefix, const Positions& positions,
                                     const TokenExtents& n);

// Checks that the written view does not overlap the positions. Requires checked positions and a
// well-formed view.
[[nodiscard]] Status check_apart(const NamedView& written, std::string_view prefix,
                                 const Positions& positions);

// Position of token t of batch row b. Requires b == 0 if the batch of the positions is 1.
[[nodiscard]] SplitPosition position_at(const Positions& positions, std::int64_t b,
                                        std::int64_t t) noexcept;

// As above for positions that are not double.
[[nodiscard]] std::int64_t integer_at(const Positions& positions, std::int64_t b,
                                      std::int64_t t) noexcept;

}  // namespace rotary
