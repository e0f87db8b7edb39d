// SPDX-License-Identifier: Apache-2.0
// Finds mistakes in keys of a cache that were moved to other positions after they were rotated.
#pragma once

#include <optional>

#include "identify/edits.hpp"
#include "identify/operation.hpp"

namespace rotary::identification {

// The sample with `before` rotated as configured, as one token with the heads of all tokens. Empty
// unless one further rotation, the same for all tokens, gives `after`.
[[nodiscard]] std::optional<Sample> moved_alike(const Start& start);

// An edit for keys that were rotated with the config's frequencies, but moved with the frequencies
// of `edit`, whose Turning is `other`.
[[nodiscard]] std::optional<Edit> shift_by_other(const Start& start, const Sample& moved,
                                                 const Edit& edit, const Turning& other);

// An edit for numbers that were rounded more than once, like keys that are shifted again and again.
// Such a sample is the configured rotation with noise in every pair, both along the pair's vector
// and across it. (A wrong angle errs only across the vector, a wrong factor only along it.) Returns
// nothing for other samples.
[[nodiscard]] std::optional<Edit> more_roundings(const Start& start);

}  // namespace rotary::identification
