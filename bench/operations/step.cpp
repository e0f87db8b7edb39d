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

Status StepRows::make_next() {
  const ConsecutivePositions positions{.first = position, .tokens = setup.line.tokens};
  position += positions.tokens;
  return remake_rotations(rotations, setup.frequencies, positions);
}

Result<Verification> StepRows::verify(const std::function<Status(std::int64_t)>& run,
                                      const std::vector<MovedHeads>& tensors) const {
  std::vector<Sample> samples;
  for (const MovedHeads& each : tensors) samples.push_back(take_sample(each.from));
  if (auto status = run(1); !status) return std::move(status).error();
  Verification result;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    result.merge(bench::verify(samples[i], tensors[i].to,
                               {.frequencies = setup.frequencies,
                                .first_position = first_position,
                                .direction = setup.line.operation->direction}));
  }
  return result;
}

Result<std::shared_ptr<StepRows>> make_step_rows(const Setup& setup) {
  auto rotations =
      make_rotations(setup.frequencies,
                     ConsecutivePositions{.first = first_position, .tokens = setup.line.tokens});
  if (!rotations) return rotations.error();
  return std::make_shared<StepRows>(StepRows{setup, *std::move(rotations)});
}

Tensor make_queries(const Line& line) {
  return make_tensor(line, line.operation->shape.query_heads, 1);
}

Tensor make_keys(const Line& line) { return make_tensor(line, line.operation->shape.key_heads, 2); }

}  // namespace rotary::bench
