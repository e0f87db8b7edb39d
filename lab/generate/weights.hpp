// SPDX-License-Identifier: Apache-2.0
// The weights of a trained decoder, by their names in its checkpoint.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace rotary::lab {

// Row-major: a Linear's weight is [outputs][inputs], an embedding [tokens][features].
using Weights = std::map<std::string, std::vector<float>>;

}  // namespace rotary::lab
