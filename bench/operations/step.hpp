// SPDX-License-Identifier: Apache-2.0
// What the jobs share: the rows of the step that comes next, q and k, and how they are verified.
#pragma once

#include <cstdint>

#include "bench/line.hpp"
#include "rotary/rotations.hpp"

namespace rotary::bench {

// Of the first step: beyond the contexts that small tables hold, at a multiple of every power of 2
// up to it, as the chunks of a prefill are.
inline constexpr std::int64_t first_position = 8192;

class StepRows {
 public:
  // The rows of the first step.
  [[nodiscard]] static Result<StepRows> make(const Setup& setup);

  // Makes those of the next step, which begins where the last one that was made so ended; the first
  // of them is the first step again.
  [[nodiscard]] Status make_next();

  [[nodiscard]] const Rotations& rotations() const { return rotations_; }
  [[nodiscard]] const Setup& setup() const { return setup_; }
  [[nodiscard]] RotateOptions options() const {
    return {.direction = setup_.line.operation->direction, .executor = setup_.executor};
  }

  // What the first step made of a tensor.
  [[nodiscard]] Verification verify_first(const Sample& before, const ConstHeadsView& after) const;

 private:
  StepRows(Setup setup, Rotations rotations);

  Setup setup_;
  Rotations rotations_;
  std::int64_t position_ = first_position;
};

struct QueryKey {
  Tensor q;
  Tensor k;
};

// Of the line's shape, filled.
[[nodiscard]] QueryKey make_query_key(const Line& line);
[[nodiscard]] Tensor make_keys(const Line& line);

}  // namespace rotary::bench
