// SPDX-License-Identifier: Apache-2.0
// Usual mistakes with rotary embedding, each as the map that it makes of a head.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/explain/numbers.hpp"
#include "rotary/rotations.hpp"

namespace rotary::cli::explain {

struct Mistake {
  std::string_view name;
  std::string what;  // at most 46 columns
  std::function<Vector(const Vector& head, std::int64_t position, Role role)> map;
};

// Those that can be made with these numbers: some belong to one pairing, or to frequencies that a
// scaling rule makes, or that none makes. They refer to the numbers, which must outlive them.
[[nodiscard]] std::vector<Mistake> usual_mistakes(const Numbers& numbers);

}  // namespace rotary::cli::explain
