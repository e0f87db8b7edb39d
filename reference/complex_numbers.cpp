// SPDX-License-Identifier: Apache-2.0
// Multiplies each pair, as a complex number, by e^{i m theta}: RoFormer (arXiv 2104.09864), eq. 12,
// and Meta's Llama code. The inverse multiplies by the conjugate.
#include <complex>
#include <cstddef>

#include "reference/forms.hpp"

namespace rotary::reference {
namespace {

using Complex = std::complex<long double>;

// The features that hold the real and imaginary parts.
enum class Parts { in_halves, side_by_side };

std::vector<Complex> as_complex(std::span<const long double> features, Parts parts) {
  const std::size_t pairs = features.size() / 2;
  std::vector<Complex> numbers(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    numbers[i] = parts == Parts::in_halves ? Complex(features[i], features[pairs + i])
                                           : Complex(features[2 * i], features[2 * i + 1]);
  }
  return numbers;
}

void store(std::span<long double> features, std::span<const Complex> numbers, Parts parts) {
  const std::size_t pairs = numbers.size();
  for (std::size_t i = 0; i < pairs; ++i) {
    (parts == Parts::in_halves ? features[i] : features[2 * i]) = numbers[i].real();
    (parts == Parts::in_halves ? features[pairs + i] : features[2 * i + 1]) = numbers[i].imag();
  }
}

Parts before(Pairing pairing) {
  return reads_neighbours(pairing) ? Parts::side_by_side : Parts::in_halves;
}
Parts after(Pairing pairing) {
  return writes_neighbours(pairing) ? Parts::side_by_side : Parts::in_halves;
}

}  // namespace

std::vector<long double> rotate_by_complex_numbers(std::span<const long double> x,
                                                   const HeadWindow& window,
                                                   const HeadRotation& rotation) {
  std::vector<long double> result(x.begin(), x.end());
  const auto turning = std::span(result).subspan(static_cast<std::size_t>(window.first_feature),
                                                 static_cast<std::size_t>(window.rotary_dim));
  const bool forward = rotation.direction == Direction::forward;
  auto numbers = as_complex(turning, forward ? before(window.pairing) : after(window.pairing));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Complex turn(rotation.angles[i].cos, rotation.angles[i].sin);
    switch (rotation.direction) {
      case Direction::forward:
        numbers[i] *= rotation.attention_factor * turn;
        break;
      case Direction::inverse:
        numbers[i] *= std::conj(turn) / rotation.attention_factor;
        break;
      case Direction::transpose:
        numbers[i] *= rotation.attention_factor * std::conj(turn);
        break;
    }
  }
  store(turning, numbers, forward ? after(window.pairing) : before(window.pairing));
  return result;
}

}  // namespace rotary::reference
