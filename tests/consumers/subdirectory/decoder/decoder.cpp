// SPDX-License-Identifier: Apache-2.0
#include "decoder.hpp"

rotary::Status rotate_pair(std::array<float, 2>& pair, std::int64_t position) {
  const auto frequencies =
      rotary::make_frequencies({.head_dim = 2, .base = 10000.0, .pairing = rotary::Pairing::half});
  if (!frequencies) return frequencies.error();
  const auto rotations = rotary::make_rotations(
      *frequencies, rotary::ConsecutivePositions{.first = position, .tokens = 1});
  if (!rotations) return rotations.error();
  const rotary::Extents extents{.tokens = 1, .heads = 1, .features = 2};
  const rotary::HeadsView view{pair.data(), rotary::DType::f32, extents, strides_bthd(extents)};
  return rotary::rotate(view, view, *rotations);
}
