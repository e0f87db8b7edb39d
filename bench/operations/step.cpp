// SPDX-License-Identifier: Apache-2.0
#include "bench/operations/step.hpp"

#include <utility>

namespace rotary::bench {

StepRows::StepRows(Setup setup, Rotations rotations)
    : setup_(std::move(setup)), rotations_(std::move(rotations)) {}

Result<StepRows> StepRows::make(const Setup& setup) {
  auto rotations =
      make_rotations(setup.frequencies,
                     ConsecutivePositions{.first = first_position, .tokens = setup.line.tokens});
  if (!rotations) return rotations.error();
  return StepRows(setup, *std::move(rotations));
}

Status StepRows::make_next() {
  const ConsecutivePositions positions{.first = position_, .tokens = setup_.line.tokens};
  position_ += positions.tokens;
  return remake_rotations(rotations_, setup_.frequencies, positions);
}

Verification StepRows::verify_first(const Sample& before, const ConstHeadsView& after) const {
  return verify(before, after,
                {.frequencies = setup_.frequencies,
                 .first_position = first_position,
                 .direction = setup_.line.operation->direction});
}

QueryKey make_query_key(const Line& line) {
  const HeadShape& shape = line.operation->shape;
  const auto tensor = [&](std::int64_t heads, std::uint64_t seed) {
    Tensor made(line.dtype,
                {.batch = 1, .tokens = line.tokens, .heads = heads, .features = shape.head_dim},
                shape.layout);
    made.fill(seed);
    return made;
  };
  return {.q = tensor(shape.query_heads, 1), .k = tensor(shape.key_heads, 2)};
}

}  // namespace rotary::bench
