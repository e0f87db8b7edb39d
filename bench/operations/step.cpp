// SPDX-License-Identifier: Apache-2.0
#include "bench/operations/step.hpp"

#include <utility>

namespace rotary::bench {
namespace {

Tensor make_tensor(const Line& line, std::int64_t heads, std::uint64_t seed) {
  const HeadShape& shape = line.operation->shape;
  Tensor made(line.dtype,
              {.batch = 1, .tokens = line.tokens, .heads = heads, .features = shape.head_dim},
              shape.layout);
  made.fill(seed);
  return made;
}

}  // namespace

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
  return {.q = make_tensor(line, line.operation->shape.query_heads, 1), .k = make_keys(line)};
}

Tensor make_keys(const Line& line) { return make_tensor(line, line.operation->shape.key_heads, 2); }

}  // namespace rotary::bench
