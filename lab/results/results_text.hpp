// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lab/results/results.hpp"

namespace rotary::lab {

// Tables of the cells, and of the comparison with published numbers; then the verdicts.
[[nodiscard]] std::string text_of(const Results& results);

}  // namespace rotary::lab
