// SPDX-License-Identifier: Apache-2.0
// The trainable numbers of a relative bias in the order of parameter_count(), so that a test can
// change one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rotary/relative_bias.hpp"

namespace rotary::test {

// Pointers to the bias's learned parameters; for a T5Bias, to `table`, which it reads. An Alibi
// without slopes first gets the default ones.
[[nodiscard]] std::vector<double*> bias_parameters(RelativeBias& bias, std::vector<double>& table);

// Random parameters for an encoding with a list for each head: in [0.1, 1.1) if they must be
// positive, else in [-1, 1). Encodings with units get 3. Empty for other encodings, whose samples
// are written by hand. Each list uses the next seed.
[[nodiscard]] std::optional<RelativeBias> random_bias(std::string_view name, std::int64_t heads,
                                                      std::uint64_t seed);

}  // namespace rotary::test
