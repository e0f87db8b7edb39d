// SPDX-License-Identifier: Apache-2.0
// A call of attend() that has passed every check. Functions that take a CheckedCall cannot fail.
#pragma once

#include <optional>

#include "attention/attend/attend_call.hpp"
#include "attention/attend/attend_plan.hpp"
#include "attention/attend/bias/score_bias.hpp"
#include "attention/attend/bias/shaw_vectors.hpp"
#include "kernels/attend/attend_kernels.hpp"
#include "rotary/result.hpp"

namespace rotary {

struct CheckedCall {
  AttendCall args;
  const kernels::AttendKernels& kernels;
  kernels::KeyFetching fetching;
  std::optional<ScoreBias> bias = {};
  ShawOfCall shaw = {};  // not yet packed
  Plan plan = {};

  [[nodiscard]] const ScoreBias* score_bias() const noexcept { return bias ? &*bias : nullptr; }
};

// attend_bytes() gets no outputs and no memory.
enum class Outputs { given, absent };

[[nodiscard]] Result<CheckedCall> check_attend(const AttendCall& call, Outputs outputs);

}  // namespace rotary
