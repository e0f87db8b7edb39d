// SPDX-License-Identifier: Apache-2.0
// Results must not depend on the machine. So all computation, including the logarithm, uses only
// integers and single IEEE double operations in a fixed order.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <span>

#include "base/guard.hpp"
#include "base/message.hpp"
#include "rotary/linear_attention.hpp"

namespace rotary {
namespace {

constexpr std::int64_t most_head_dim = 4096;
constexpr std::int64_t most_directions = 65536;

// ln x of a normal x > 0. x = 2^e m with m in [sqrt(1/2), sqrt(2)), and ln m = 2 artanh(s) with
// s = (m - 1) / (m + 1). |s| is at most 0.172, so each term of the series is below 1/33 of the term
// before.
double natural_logarithm(double x) {
  constexpr double ln_2 = 0x1.62e42fefa39efp-1;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
  auto m = std::bit_cast<double>((bits & 0x000F'FFFF'FFFF'FFFF) | 0x3FF0'0000'0000'0000);
  if (m >= 0x1.6a09e667f3bcdp0) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int odd = 21; odd > 0; odd -= 2) sum = sum * square + 1.0 / odd;
  return 2 * s * sum + static_cast<double>(exponent) * ln_2;
}

// SplitMix64 (Steele, Lea and Flood 2014): a Weyl sequence and a 64-bit mixer. Marsaglia's polar
// method makes two normal numbers from each point of the unit disc.
class NormalNumbers {
 public:
  explicit NormalNumbers(std::uint64_t seed) : state_(seed) {}

  [[nodiscard]] double next() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    double x = 0;
    double y = 0;
    double square = 0;
    do {
      x = uniform();
      y = uniform();
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * natural_logarithm(square) / square);
    second_ = y * factor;
    has_second_ = true;
    return x * factor;
  }

 private:
  // Uniform in [-1, 1), a multiple of 2^-52.
  double uniform() {
    state_ += 0x9E37'79B9'7F4A'7C15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-52 - 1;
  }

  std::uint64_t state_;
  double second_ = 0;
  bool has_second_ = false;
};

using Rows = std::span<double>;  // [count][head_dim]

double dot(Rows a, Rows b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Makes a row orthogonal to the rows before it, then scales it to length 1. Subtracts the
// components twice: then even a short remainder is orthogonal within rounding.
void orthogonalize(Rows rows, std::size_t row, std::size_t head_dim) {
  const Rows self = rows.subspan(row * head_dim, head_dim);
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t before = 0; before < row; ++before) {
      const Rows other = rows.subspan(before * head_dim, head_dim);
      const double share = dot(self, other);
      for (std::size_t i = 0; i < head_dim; ++i) self[i] -= share * other[i];
    }
  }
  const double length = std::sqrt(dot(self, self));
  for (double& each : self) each /= length;
}

Status check(const RandomFeaturesSpec& spec) {
  if (spec.head_dim < 1 || spec.head_dim > most_head_dim) {
    return invalid_argument("head_dim must be in [1, ", most_head_dim, "], got ", spec.head_dim);
  }
  if (spec.features >= 1 && spec.features <= most_directions) return {};
  return invalid_argument("features must be in [1, ", most_directions, "], got ", spec.features);
}

}  // namespace

Result<std::vector<float>> make_random_features(const RandomFeaturesSpec& spec) noexcept {
  return guarded([&]() -> Result<std::vector<float>> {
    if (auto status = check(spec); !status) return status.error();
    const auto head_dim = static_cast<std::size_t>(spec.head_dim);
    const auto features = static_cast<std::size_t>(spec.features);
    std::vector<float> directions(head_dim * features);
    std::vector<double> block(head_dim * head_dim);
    NormalNumbers normal(spec.seed);
    for (std::size_t first = 0; first < features; first += head_dim) {
      const std::size_t count = std::min(head_dim, features - first);
      for (std::size_t i = 0; i < count * head_dim; ++i) block[i] = normal.next();
      for (std::size_t row = 0; row < count; ++row) {
        orthogonalize(block, row, head_dim);
        double square = 0;  // squared length of a normal vector
        for (std::size_t i = 0; i < head_dim; ++i) {
          const double each = normal.next();
          square += each * each;
        }
        const double length = std::sqrt(square);
        for (std::size_t i = 0; i < head_dim; ++i) {
          directions[i * features + first + row] =
              static_cast<float>(length * block[row * head_dim + i]);
        }
      }
    }
    return directions;
  });
}

}  // namespace rotary
