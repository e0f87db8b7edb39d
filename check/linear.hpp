// SPDX-License-Identifier: Apache-2.0
// A call of linear_attend() as a value; compares its results with the reference, element by
// element, within exactly the bound of include/rotary/numeric_contract.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "check/verdict.hpp"
#include "check/views.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/linear_attention.hpp"
#include "rotary/positions.hpp"

namespace rotary::check {

// How tokens rotate: each token's angles, and the rotate_error_bound of q and k together.
struct LinearTurn {
  std::function<std::vector<reference::CosSin>(std::int64_t batch, std::int64_t token)> q;
  std::function<std::vector<reference::CosSin>(std::int64_t batch, std::int64_t token)> k;
  HeadWindow window;
  double errors = 0;
};

// Angles by definition: token t of q, and of k, is at positions[t].
[[nodiscard]] LinearTurn turn_by(const Frequencies& frequencies,
                                 const ConsecutivePositions& positions, DType dtype);

// Owns nothing.
struct LinearCall {
  ConstHeadsView out;
  LinearHeads heads;
  const FeatureMap& map;
  LinearMask mask = {};
  std::optional<SegmentMap> segments = {};
  double epsilon = 1e-6;
  std::optional<LinearTurn> turn = {};
  // Number of tokens of an earlier call. Its last document ends there if another begins.
  std::int64_t earlier = 0;
  // out holds only the results from this query on.
  std::int64_t first_query = 0;
  // Skips rows with a feature of a larger exponent.
  double largest_exponent = std::numeric_limits<double>::infinity();
};

[[nodiscard]] Verdict verdict(const LinearCall& call);

}  // namespace rotary::check
