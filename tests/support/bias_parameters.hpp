// SPDX-License-Identifier: Apache-2.0
// The numbers of a relative bias that training would change, in the order of parameter_count(), to
// be changed one by one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "rotary/relative_bias.hpp"

namespace rotary::test {

// table: what a T5Bias reads. Slopes of ALiBi that are not given are written out first.
[[nodiscard]] std::vector<double*> bias_parameters(RelativeBias& bias, std::vector<double>& table);

// An encoding whose parameters are lists for each head, with random numbers within their bounds:
// between 0.1 and 1.1 where they must be positive, otherwise in [-1, 1); with 3 units, where it has
// units. Nothing for the others, whose samples tests write out. Each list takes the next seed.
[[nodiscard]] std::optional<RelativeBias> random_bias(std::string_view name, std::int64_t heads,
                                                      std::uint64_t seed);

}  // namespace rotary::test
