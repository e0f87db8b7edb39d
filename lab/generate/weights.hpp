// SPDX-License-Identifier: Apache-2.0
// The numbers of a trained decoder, by the names that its checkpoint has for them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace rotary::lab {

// Row-major: a Linear's weight is [outputs][inputs], an embedding [tokens][features].
using Weights = std::map<std::string, std::vector<float>>;

}  // namespace rotary::lab
