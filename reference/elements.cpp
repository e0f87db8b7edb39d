// SPDX-License-Identifier: Apache-2.0
// x * cos + rotated(x) * sin, RoFormer (arXiv 2104.09864) eq. 34. In version 5 the last pair is
// (-x_d, x_{d-1}); widely copied code has (-x_{d-1}, x_d), which is no rotation. rotated(x) is
// rotate_every_two for pairing interleaved, rotate_half for half. A pairing that moves pairs first
// puts them in the order that it writes, then rotates them, as DeepSeek-V3's
// apply_rotary_pos_emb_interleave does in Transformers.
#include <algorithm>
#include <cstddef>

#include "reference/forms.hpp"

namespace rotary::reference {
namespace {

// (-x2, x1, -x4, x3, …, -x_d, x_{d-1})
std::vector<long double> rotate_every_two(std::span<const long double> x) {
  std::vector<long double> result(x.size());
  for (std::size_t i = 0; i < x.size(); i += 2) {
    result[i] = -x[i + 1];
    result[i + 1] = x[i];
  }
  return result;
}

// (-second half, first half)
std::vector<long double> rotate_half(std::span<const long double> x) {
  std::vector<long double> result;
  for (const long double value : x.subspan(x.size() / 2)) result.push_back(-value);
  for (const long double value : x.first(x.size() / 2)) result.push_back(value);
  return result;
}

// One angle for each feature: (t1, t1, t2, t2, …) or (t1, t2, …, t1, t2, …).
std::vector<CosSin> one_for_each_feature(std::span<const CosSin> angles, Pairing pairing) {
  std::vector<CosSin> result;
  if (pairing == Pairing::interleaved) {
    for (const CosSin& angle : angles) result.insert(result.end(), 2, angle);
  } else {
    result.insert(result.end(), angles.begin(), angles.end());
    result.insert(result.end(), angles.begin(), angles.end());
  }
  return result;
}

// (x1, x3, …, x_{d-1}, x2, x4, …, x_d)
std::vector<long double> even_before_odd(std::span<const long double> x) {
  std::vector<long double> result;
  for (std::size_t i = 0; i < x.size(); i += 2) result.push_back(x[i]);
  for (std::size_t i = 1; i < x.size(); i += 2) result.push_back(x[i]);
  return result;
}

// The inverse of even_before_odd.
std::vector<long double> even_between_odd(std::span<const long double> x) {
  std::vector<long double> result;
  for (std::size_t i = 0; i < x.size() / 2; ++i) {
    result.push_back(x[i]);
    result.push_back(x[x.size() / 2 + i]);
  }
  return result;
}

std::vector<long double> turn(std::span<const long double> x, Pairing pairing,
                              const HeadRotation& rotation) {
  const auto rotated = pairing == Pairing::half ? rotate_half(x) : rotate_every_two(x);
  const auto angles = one_for_each_feature(rotation.angles, pairing);
  const long double sign = rotation.direction == Direction::forward ? 1 : -1;
  const long double scale = rotation.direction == Direction::inverse ? 1 / rotation.attention_factor
                                                                     : rotation.attention_factor;
  std::vector<long double> result;
  for (std::size_t f = 0; f < x.size(); ++f) {
    result.push_back(scale * (x[f] * angles[f].cos + sign * rotated[f] * angles[f].sin));
  }
  return result;
}

}  // namespace

std::vector<long double> rotate_by_elements(std::span<const long double> x,
                                            const HeadWindow& window,
                                            const HeadRotation& rotation) {
  std::vector<long double> result(x.begin(), x.end());
  const auto turning = x.subspan(static_cast<std::size_t>(window.first_feature),
                                 static_cast<std::size_t>(window.rotary_dim));
  const Pairing pairing = window.pairing;
  if (reads_neighbours(pairing) != writes_neighbours(pairing)) {
    const bool to_neighbours = writes_neighbours(pairing);
    const auto move = to_neighbours ? even_between_odd : even_before_odd;
    const auto move_back = to_neighbours ? even_before_odd : even_between_odd;
    const Pairing moved = to_neighbours ? Pairing::interleaved : Pairing::half;
    const auto turned = rotation.direction == Direction::forward
                            ? turn(move(turning), moved, rotation)
                            : move_back(turn(turning, moved, rotation));
    std::copy(turned.begin(), turned.end(), result.begin() + window.first_feature);
    return result;
  }
  const auto width = turning.size() / static_cast<std::size_t>(window.blocks);
  for (std::size_t begin = 0; begin < turning.size(); begin += width) {
    HeadRotation of_block = rotation;
    of_block.angles = rotation.angles.subspan(begin / 2, width / 2);
    const auto turned = turn(turning.subspan(begin, width), pairing, of_block);
    std::copy(turned.begin(), turned.end(),
              result.begin() + window.first_feature + static_cast<std::ptrdiff_t>(begin));
  }
  return result;
}

}  // namespace rotary::reference
