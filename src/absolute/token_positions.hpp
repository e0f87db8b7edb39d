// SPDX-License-Identifier: Apache-2.0
// Positions, or other numbers that tokens have, of the tokens of a view.
#pragma once

#include <cstdint>
#include <string_view>

#include "absolute/token_views.hpp"
#include "phase/fractional_phase.hpp"
#include "rotary/positions.hpp"
#include "rotary/result.hpp"
#include "tensor/position_access.hpp"

namespace rotary {

// Well-formed, one for each token of n, the same for every batch row where their batch is 1.
// prefix: what messages begin with, "" or whose positions they are.
[[nodiscard]] Status check_positions(std::string_view prefix, const Positions& positions,
                                     const TokenExtents& n);

// What is written holds none of them. Requires checked positions and a well-formed view.
[[nodiscard]] Status check_apart(const NamedView& written, std::string_view prefix,
                                 const Positions& positions);

// Of token t of batch row b, which is 0 where the batch of the positions is 1.
[[nodiscard]] SplitPosition position_at(const Positions& positions, std::int64_t b,
                                        std::int64_t t) noexcept;

// The same of positions that are no doubles.
[[nodiscard]] std::int64_t integer_at(const Positions& positions, std::int64_t b,
                                      std::int64_t t) noexcept;

}  // namespace rotary
