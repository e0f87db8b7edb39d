// SPDX-License-Identifier: Apache-2.0
// Views of tokens, tables, scores and matrices, decoded from an input.
#pragma once

#include "fuzz/bytes.hpp"
#include "fuzz/numbers_case.hpp"
#include "fuzz/shapes.hpp"
#include "fuzz/strided.hpp"
#include "rotary/scores_view.hpp"
#include "rotary/tokens_view.hpp"

namespace rotary::fuzz {

// Each gives a view, whose dtype and extents are set, strides and a place; false when there is
// none.
[[nodiscard]] bool decode_view(Bytes& input, Places& places, TokensView& view);
[[nodiscard]] bool decode_view(Bytes& input, Places& places, ConstTokensView& view);
[[nodiscard]] bool decode_view(Bytes& input, Places& places, TableView& table);
[[nodiscard]] bool decode_view(Bytes& input, Places& places, ConstTableView& table);
[[nodiscard]] bool decode_view(Bytes& input, Places& places, ScoresView& scores);
[[nodiscard]] bool decode_view(Bytes& input, Places& places, ConstScoresView& scores);
[[nodiscard]] bool decode_view(Bytes& input, Places& places, ConstMatrixView& matrix);
[[nodiscard]] bool decode_view(Bytes& input, Places& places, HeadsView& heads);
[[nodiscard]] bool decode_view(Bytes& input, Places& places, ConstHeadsView& heads);

// src is dst, or dst at another place, or a separate view, mostly of the same extents and dtype.
[[nodiscard]] bool decode_source(Bytes& input, Places& places, const TokensView& dst,
                                 ConstTokensView& src);

// The requirement of check_transfer on both views: one dtype, the same extents, in place or apart.
[[nodiscard]] bool are_in_place(const ConstTokensView& dst, const ConstTokensView& src);

// Whether these numbers may be those of the tokens of such a view.
[[nodiscard]] bool are_of_tokens(const NumbersCase& numbers, const TokenExtents& n);

}  // namespace rotary::fuzz
