// SPDX-License-Identifier: Apache-2.0
// Absolute encodings by definition: full rows of sinusoidal encodings, and interpolation as a dense
// matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/angle.hpp"
#include "rotary/absolute.hpp"

namespace rotary::reference {

[[nodiscard]] std::vector<long double> sinusoidal_inv_freq(const SinusoidalSpec& spec);

// cos and sin of (position + spec.position_offset) * inv_freq[k] for each k.
[[nodiscard]] std::vector<CosSin> sinusoidal_angles(const Sinusoidal& sinusoidal,
                                                    long double position);

// Sines and cosines in the order of the token's features, [dim].
[[nodiscard]] std::vector<long double> sinusoidal_row(const SinusoidalSpec& spec,
                                                      const std::vector<CosSin>& angles);

// Element [i][j]: the weight of source row j in result row i.
using Matrix = std::vector<std::vector<long double>>;

[[nodiscard]] Matrix interpolation_matrix(const LinearInterpolation& linear, std::int64_t from,
                                          std::int64_t to);
[[nodiscard]] Matrix interpolation_matrix(const BicubicInterpolation& bicubic);

}  // namespace rotary::reference
