// SPDX-License-Identifier: Apache-2.0
// Sinusoids: Vaswani et al. (arXiv 1706.03762) §3.5. Bicubic weights: Keys, "Cubic Convolution
// Interpolation for Digital Image Processing" (1981), eq. 15, for any a.
#include "reference/absolute.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace rotary::reference {
namespace {

// 1, r, r², … for r = exp(log_of_quotient).
std::vector<long double> geometric(std::int64_t count, long double log_of_quotient) {
  std::vector<long double> terms;
  for (std::int64_t k = 0; k < count; ++k) {
    terms.push_back(std::exp(log_of_quotient * static_cast<long double>(k)));
  }
  return terms;
}

// W(s) of Keys with a = -0.75.
long double keys(long double s) {
  const long double a = -0.75L;
  s = std::abs(s);
  if (s <= 1) return (a + 2) * s * s * s - (a + 3) * s * s + 1;
  if (s < 2) return a * s * s * s - 5 * a * s * s + 8 * a * s - 4 * a;
  return 0;
}

long double center_of(std::int64_t i, std::int64_t from, long double to) {
  const auto scale = static_cast<long double>(from) / to;
  return (static_cast<long double>(i) + 0.5L) * scale - 0.5L;
}

Matrix zeros(std::int64_t rows, std::int64_t columns) {
  return Matrix(static_cast<std::size_t>(rows),
                std::vector<long double>(static_cast<std::size_t>(columns)));
}

// Interpolates along one axis. Beyond the border the first or last row repeats.
Matrix cubic_axis(std::int64_t from, std::int64_t to, long double size_offset) {
  Matrix matrix = zeros(to, from);
  for (std::int64_t i = 0; i < to; ++i) {
    const long double x = center_of(i, from, static_cast<long double>(to) + size_offset);
    const auto middle = static_cast<std::int64_t>(std::floor(x));
    for (std::int64_t n = middle - 3; n <= middle + 4; ++n) {
      const auto column = static_cast<std::size_t>(std::clamp<std::int64_t>(n, 0, from - 1));
      matrix[static_cast<std::size_t>(i)][column] += keys(x - static_cast<long double>(n));
    }
  }
  return matrix;
}

Matrix with_kept_rows(const Matrix& inner, std::int64_t kept, std::int64_t from) {
  const auto first = static_cast<std::size_t>(kept);
  Matrix matrix = zeros(kept + static_cast<std::int64_t>(inner.size()), from);
  for (std::size_t i = 0; i < first; ++i) matrix[i][i] = 1;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    std::copy(inner[i].begin(), inner[i].end(),
              matrix[first + i].begin() + static_cast<std::ptrdiff_t>(first));
  }
  return matrix;
}

}  // namespace

std::vector<long double> sinusoidal_inv_freq(const SinusoidalSpec& spec) {
  const long double log_base = std::log(static_cast<long double>(spec.base.get()));
  const auto d = static_cast<long double>(spec.dim);
  if (spec.spacing == SinusoidalSpacing::ends) {
    return geometric(spec.dim / 2, -log_base / (std::floor(d / 2) - 1));
  }
  return geometric((spec.dim + 1) / 2, -2 * log_base / d);
}

std::vector<CosSin> sinusoidal_angles(const Sinusoidal& sinusoidal, long double position) {
  std::vector<CosSin> angles;
  // The sum of position and offset can exceed int64.
  const auto offset = static_cast<long double>(sinusoidal.spec.position_offset);
  for (const double inv_freq : sinusoidal.inv_freq)
    angles.push_back(
        cos_sin_of_sum(std::array{Angle{position, inv_freq}, Angle{offset, inv_freq}}));
  return angles;
}

std::vector<long double> sinusoidal_row(const SinusoidalSpec& spec,
                                        const std::vector<CosSin>& angles) {
  const auto dim = static_cast<std::size_t>(spec.dim);
  std::vector<long double> row;
  if (spec.layout == SinusoidalLayout::interleaved) {
    for (const CosSin& angle : angles) row.insert(row.end(), {angle.sin, angle.cos});
  } else {
    const bool sin_first = spec.layout == SinusoidalLayout::sin_then_cos;
    for (const CosSin& angle : angles) row.push_back(sin_first ? angle.sin : angle.cos);
    for (const CosSin& angle : angles) row.push_back(sin_first ? angle.cos : angle.sin);
  }
  row.resize(dim);  // drops half of the last pair of an odd dim, or adds zeros
  return row;
}

Matrix interpolation_matrix(const LinearInterpolation& linear, std::int64_t from, std::int64_t to) {
  const std::int64_t kept = linear.kept_rows;
  Matrix inner = zeros(to - kept, from - kept);
  for (std::int64_t i = 0; i < to - kept; ++i) {
    const auto last = static_cast<long double>(from - kept - 1);
    const long double x =
        std::clamp(center_of(i, from - kept, static_cast<long double>(to - kept)), 0.0L, last);
    auto& row = inner[static_cast<std::size_t>(i)];
    for (std::size_t j = 0; j < row.size(); ++j) {
      row[j] = std::max(0.0L, 1 - std::abs(x - static_cast<long double>(j)));
    }
  }
  return with_kept_rows(inner, kept, from);
}

Matrix interpolation_matrix(const BicubicInterpolation& bicubic) {
  const Matrix down = cubic_axis(bicubic.from.rows, bicubic.to.rows, bicubic.size_offset);
  const Matrix across = cubic_axis(bicubic.from.columns, bicubic.to.columns, bicubic.size_offset);
  Matrix inner;
  for (const auto& row : down) {
    for (const auto& column : across) {
      std::vector<long double> shares;
      for (const long double a : row) {
        for (const long double b : column) shares.push_back(a * b);
      }
      inner.push_back(shares);
    }
  }
  return with_kept_rows(inner, bicubic.kept_rows,
                        bicubic.kept_rows + bicubic.from.rows * bicubic.from.columns);
}

}  // namespace rotary::reference
