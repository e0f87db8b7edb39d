// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "properties/implementation.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/rotations.hpp"
#include "support/result.hpp"

namespace rotary::test {

RotateHead library(const RotarySpec& spec) {
  return [frequencies = value_of(make_frequencies(spec))](const Request& request) {
    const auto role = frequencies.xpos ? std::optional(request.role) : std::nullopt;
    const Rotations rotations = value_of(make_rotations(
        frequencies, ConsecutivePositions{.first = request.position, .tokens = 1}, {.role = role}));
    std::vector<float> head(request.head.begin(), request.head.end());
    const Extents extents{
        .tokens = 1, .heads = 1, .features = static_cast<std::int64_t>(head.size())};
    const HeadsView view{head.data(), DType::f32, extents, strides_bthd(extents)};
    require(rotate(view, view, rotations, {.direction = request.direction}));
    return head;
  };
}

}  // namespace rotary::test
