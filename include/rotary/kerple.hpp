// SPDX-License-Identifier: Apache-2.0
// KERPLE: relative biases from conditionally positive definite kernels, with two learned numbers
// for each head. Chi et al. 2022 (arXiv 2205.09921); chijames/KERPLE, megatron/mpu/layers.py.
#pragma once

#include <vector>

#include "rotary/export.h"

namespace rotary {

// -p ln(1 + a |i - j|).
struct KerpleLog {
  std::vector<double> p = {};  // [heads], in (0, 2^256]
  std::vector<double> a = {};  // [heads], in (0, 2^256]

  friend bool operator==(const KerpleLog&, const KerpleLog&) = default;
};

// -a |i - j|^p.
struct KerplePower {
  std::vector<double> a = {};  // [heads], in (0, 2^256]
  std::vector<double> p = {};  // [heads], in (0, 2]

  friend bool operator==(const KerplePower&, const KerplePower&) = default;
};

// What the authors' code sets the numbers to before each use: at least 0.01, the exponent of the
// power at most 2; the others here at most 2^256. NaN stays.
[[nodiscard]] ROTARY_API KerpleLog clamped(KerpleLog kerple) noexcept;
[[nodiscard]] ROTARY_API KerplePower clamped(KerplePower kerple) noexcept;

}  // namespace rotary
