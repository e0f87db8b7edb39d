// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bench/line.hpp"
#include "rotary/rotations.hpp"

namespace rotary::bench {

// First position of the first step: beyond small tables, and aligned like the chunks of a prefill.
inline constexpr std::int64_t first_position = 8192;

// Heads before and after a call.
struct MovedHeads {
  HeadsView from;
  HeadsView to;
};

struct StepRows {
  Setup setup;
  Rotations rotations;
  std::int64_t position = first_position;

  // Makes the rows of the next step. The first call makes the rows of the first step again.
  [[nodiscard]] Status make_next();

  [[nodiscard]] RotateOptions options() const {
    return {.direction = setup.line.operation->direction, .executor = setup.executor};
  }

  // Runs once and verifies the tensors for the first step.
  [[nodiscard]] Result<Verification> verify(const std::function<Status(std::int64_t)>& run,
                                            const std::vector<MovedHeads>& tensors) const;
};

// The rows of the first step.
[[nodiscard]] Result<std::shared_ptr<StepRows>> make_step_rows(const Setup& setup);

// Makes filled tensors with the line's shape.
[[nodiscard]] Tensor make_queries(const Line& line);
[[nodiscard]] Tensor make_keys(const Line& line);

// Calls call() `calls` times; stops at the first error.
template <class Call>
Status repeat(std::int64_t calls, const Call& call) {
  for (std::int64_t i = 0; i < calls; ++i) {
    if (auto status = call(); !status) return status;
  }
  return {};
}

}  // namespace rotary::bench
