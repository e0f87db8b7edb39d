// SPDX-License-Identifier: Apache-2.0
// The numbers of a relative bias that training would change, in the order of parameter_count(), to
// be changed one by one.
#pragma once

#include <vector>

#include "rotary/relative_bias.hpp"

namespace rotary::test {

// table: what a T5Bias reads. Slopes of ALiBi that are not given are written out first.
[[nodiscard]] std::vector<double*> bias_parameters(RelativeBias& bias, std::vector<double>& table);

}  // namespace rotary::test
