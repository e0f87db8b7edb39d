// SPDX-License-Identifier: Apache-2.0
// Decodes the tokens that a call reads, which may be the tokens that it writes.
#pragma once

#include <vector>

#include "fuzz/bytes.hpp"
#include "fuzz/numbers_case.hpp"
#include "fuzz/shapes.hpp"
#include "fuzz/strided.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

// src is dst, dst at another address, or a separate view, usually of the same extents and dtype.
[[nodiscard]] bool decode_source(Bytes& input, Places& places, const TokensView& dst,
                                 ConstTokensView& src);

// Adds a source that is not dst itself to `read`. Returns false unless it is well-formed and has
// the dtype and the extents of dst.
[[nodiscard]] bool add_source(const ConstTokensView& dst, const ConstTokensView& src,
                              std::vector<Strided>& read);

// True if these numbers may belong to the tokens of a view with these extents.
[[nodiscard]] bool are_of_tokens(const NumbersCase& numbers, const TokenExtents& n);

}  // namespace rotary::fuzz
