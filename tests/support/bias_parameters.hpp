// SPDX-License-Identifier: Apache-2.0
// The learned numbers of a relative bias, in the order of add_bias_gradient(). A test can change
// one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rotary/relative_bias.hpp"

namespace rotary::test {

// Pointers to the bias's learned numbers. Those of a T5Bias are in `table`, which it reads. An
// Alibi without slopes gets the default slopes first.
[[nodiscard]] std::vector<double*> bias_parameters(RelativeBias& bias, std::vector<double>& table);

// A bias whose lists for each head hold random numbers, in [0.1, 1.1) if they must be positive,
// otherwise in [-1, 1). Each list uses the next seed. Empty for encodings with other parameters;
// their samples are written by hand.
[[nodiscard]] std::optional<RelativeBias> random_bias(std::string_view name, std::int64_t heads,
                                                      std::uint64_t seed);

}  // namespace rotary::test
