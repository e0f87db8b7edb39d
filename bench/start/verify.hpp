// SPDX-License-Identifier: Apache-2.0
// Holds every element of a rotated tensor against the reference.
#pragma once

#include <cstdint>

#include "bench/start/progress.hpp"
#include "reference/tensor.hpp"
#include "rotary/frequencies.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::bench {

struct Verification {
  std::int64_t elements = 0;
  std::int64_t wrong = 0;  // beyond the bound of numeric_contract.hpp
  double worst = 0;        // in units of 2^-24 hypot(exact pair)
  double bound = 0;        // the largest bound among the elements
  reference::HeadIndex worst_head;
  std::int64_t worst_feature = 0;

  void merge(const Verification& other);
};

struct RotatedTensor {
  ConstHeadsView before;
  ConstHeadsView after;
};

// positions 0, 1, …
[[nodiscard]] Verification verify(const RotatedTensor& tensor, const Frequencies& frequencies,
                                  const reference::AngleRows& rows, Progress& progress);

}  // namespace rotary::bench
