// SPDX-License-Identifier: Apache-2.0
// Elements of tensors, from a seed: an input need not hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

// activations: numbers like a model's, in (-4, 4). any: any bits at all, NaN, Inf and subnormal
// numbers included.
enum class Noise { activations, any };

// Fills the elements of this dtype; the same seed gives the same bytes.
void fill(std::span<std::byte> elements, DType dtype, Noise noise, std::uint64_t seed);

}  // namespace rotary::fuzz
