// SPDX-License-Identifier: Apache-2.0
// A call of linear_attend() as a value. Compares each element of its result with the reference,
// within the bound of include/rotary/numeric_contract.hpp.
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

// How tokens rotate: the angles of each token, and the sum of rotate_error_bound for q and for k.
struct LinearTurn {
  std::function<std::vector<reference::CosSin>(std::int64_t batch, std::int64_t token)> q;
  std::function<std::vector<reference::CosSin>(std::int64_t batch, std::int64_t token)> k;
  HeadWindow window;
  double errors = 0;
};

// Angles by definition. Token t of q and token t of k both have position positions.first + t.
[[nodiscard]] LinearTurn turn_by(const Frequencies& frequencies,
                                 const ConsecutivePositions& positions, DType dtype);

// Owns no memory.
struct LinearCall {
  ConstHeadsView out;
  LinearHeads heads;
  const FeatureMap& map;
  LinearMask mask = {};
  std::optional<SegmentMap> segments = {};
  double epsilon = 1e-6;
  std::optional<LinearTurn> turn = {};
  // The number of tokens that an earlier call processed. The token after them continues the last
  // document, even with another segment.
  std::int64_t earlier = 0;
  // Index of the query in out's first token.
  std::int64_t first_query = 0;
  // Skips rows in which a feature has a larger exponent.
  double largest_exponent = std::numeric_limits<double>::infinity();
};

[[nodiscard]] Verdict verdict(const LinearCall& call);

}  // namespace rotary::check
