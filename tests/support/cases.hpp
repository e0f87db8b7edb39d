// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "rotary/frequencies.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotate.hpp"
#include "support/tensor.hpp"

namespace rotary::test {

// The pairings whose rotation keeps each pair in place.
inline constexpr std::array order_keeping_pairings = {Pairing::half, Pairing::interleaved};
inline constexpr std::array all_dtypes = {DType::f32, DType::bf16, DType::f16, DType::f64};
inline constexpr std::array all_directions = {Direction::forward, Direction::inverse,
                                              Direction::transpose};

// Frequencies of base 10000 for the window's pairs.
[[nodiscard]] Frequencies frequencies_of(const HeadWindow& window, double attention_factor = 1);

[[nodiscard]] Rotations rotations_of(const Frequencies& frequencies, const Positions& positions,
                                     RowDType rows = RowDType::f32);

[[nodiscard]] RowDType rows_for(DType dtype) noexcept;

// Fills a tensor with random activations.
[[nodiscard]] Tensor random_tensor(const Shape& shape, std::uint64_t seed);

[[nodiscard]] Tensor moved_to(Layout layout, const Tensor& tensor);
[[nodiscard]] Tensor rounded_to(DType dtype, const Tensor& tensor);

// For SCOPED_TRACE: "bf16 interleaved inverse".
[[nodiscard]] std::string describe(DType dtype, Pairing pairing, Direction direction);

}  // namespace rotary::test
