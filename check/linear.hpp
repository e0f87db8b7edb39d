// SPDX-License-Identifier: Apache-2.0
// A call of linear_attend() as a value, and its results against the reference, element by element,
// within the bound that include/rotary/numeric_contract.hpp promises and no wider.
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

// How tokens turn: the angles of one, and rotate_error_bound of those of q and of k together.
struct LinearTurn {
  std::function<std::vector<reference::CosSin>(std::int64_t batch, std::int64_t token)> q;
  std::function<std::vector<reference::CosSin>(std::int64_t batch, std::int64_t token)> k;
  HeadWindow window;
  double errors = 0;
};

// By the definition: token t of q, and of k, is at the position of token t.
[[nodiscard]] LinearTurn turn_by(const Frequencies& frequencies,
                                 const ConsecutivePositions& positions, DType dtype);

// It owns nothing.
struct LinearCall {
  ConstHeadsView out;
  LinearHeads heads;
  const FeatureMap& map;
  LinearMask mask = {};
  std::optional<SegmentMap> segments = {};
  double epsilon = 1e-6;
  std::optional<LinearTurn> turn = {};
  // Tokens from the first on that an earlier call took. Its last document ends there where another
  // one begins.
  std::int64_t earlier = 0;
  // out holds the results of queries from this one on, and of no other.
  std::int64_t first_query = 0;
  // Rows that meet a feature of a larger exponent are not compared.
  double largest_exponent = std::numeric_limits<double>::infinity();
};

[[nodiscard]] Verdict verdict(const LinearCall& call);

}  // namespace rotary::check
