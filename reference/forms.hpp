// SPDX-License-Identifier: Apache-2.0
// Three forms of the rotation of one head, from three sources, so that they check one another.
// Features outside the window are unchanged.
#pragma once

#include <span>
#include <vector>

#include "reference/angle.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotate.hpp"

namespace rotary::reference {

// Whether a forward rotation reads (or writes) pair i at features 2i and 2i + 1.
[[nodiscard]] constexpr bool reads_neighbours(Pairing pairing) { return pairing != Pairing::half; }
[[nodiscard]] constexpr bool writes_neighbours(Pairing pairing) {
  return pairing == Pairing::interleaved;
}

// forward is A R, inverse R^-1 / A, transpose A R^T. For interleaved_to_half R is a rotation
// followed by a permutation. Rows of xPos contain a factor, so they allow no inverse.
struct HeadRotation {
  std::span<const CosSin> angles;  // [pairs]
  long double attention_factor = 1;
  Direction direction = Direction::forward;
};

// Block-diagonal matrix R^d_{Theta,m}, with d^2 products: RoFormer (arXiv 2104.09864), eq. 15.
[[nodiscard]] std::vector<long double> rotate_by_matrix(
    std::span<const long double> x,  // [head_dim]
    const HeadWindow& window, const HeadRotation& rotation);

// Complex multiplication (x_first + i x_second) e^{i m theta}: RoFormer, eq. 12. Requires 1 block.
[[nodiscard]] std::vector<long double> rotate_by_complex_numbers(std::span<const long double> x,
                                                                 const HeadWindow& window,
                                                                 const HeadRotation& rotation);

// Element-wise x * cos + rotated(x) * sin: RoFormer, eq. 34 of arXiv version 5.
[[nodiscard]] std::vector<long double> rotate_by_elements(std::span<const long double> x,
                                                          const HeadWindow& window,
                                                          const HeadRotation& rotation);

}  // namespace rotary::reference
