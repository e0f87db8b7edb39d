// SPDX-License-Identifier: Apache-2.0
// Makes tensor elements from a seed, so that an input need not hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/bytes.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::fuzz {

// activations: numbers like a model's, in (-4, 4). any: any bits, including NaN and Inf.
enum class Noise { activations, any };
[[nodiscard]] inline Noise decode_noise(Bytes& input) {
  return input.once_in(3) ? Noise::any : Noise::activations;
}

// Fills elements of this dtype. The same seed gives the same bytes.
void fill(std::span<std::byte> elements, DType dtype, Noise noise, std::uint64_t seed);

}  // namespace rotary::fuzz
