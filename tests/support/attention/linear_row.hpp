// SPDX-License-Identifier: Apache-2.0
// One query of one head by the definition of linear attention, and the contract between that and
// what the library computed. Without GoogleTest: fuzzers use it, too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reference/linear_attention.hpp"
#include "rotary/linear_attention.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::test {

// A token of one head, mapped.
struct LinearToken {
  reference::MappedVector vector;
  double feature_error = 0;
  double largest = 1;  // of its features, at least 1
};

// The exponents of a feature: Σ |w_d y_d| + |y|², at most; |x| at most of SoftmaxExp.
[[nodiscard]] double exponent_size(const FeatureMap& map, std::span<const long double> x);

[[nodiscard]] LinearToken linear_token(std::span<const long double> x, const FeatureMap& map,
                                       reference::Side side, DType dtype);

// A key that a query sees.
struct LinearKey {
  const LinearToken& token;
  std::span<const long double> value;
};

struct LinearRule {
  const FeatureMap& map;
  double epsilon = 0;
  DType dtype = DType::f32;
  double turn_errors = 0;  // as in LinearErrors
};

// Says which element of a row is not within its bound; empty where all are. An infinite bound
// allows everything.
[[nodiscard]] std::string linear_fault(std::span<const double> computed, const LinearToken& query,
                                       const std::vector<LinearKey>& seen, const LinearRule& rule);

}  // namespace rotary::test
