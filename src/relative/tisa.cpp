// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/message.hpp"
#include "relative/checks.hpp"
#include "relative/evaluators.hpp"
#include "rotary/relative_bias.hpp"

namespace rotary::relative {
namespace {

constexpr std::int64_t most_kernels = std::int64_t{1} << 20;

}  // namespace

Status check(const Tisa& bias) {
  if (bias.kernels < 1 || bias.kernels > most_kernels) {
    return invalid_argument("kernels must be in [1, ", most_kernels, "], got ", bias.kernels);
  }
  const std::size_t count = bias.a.size();
  if (count == 0 || count % to_size(bias.kernels) != 0 || bias.b.size() != count ||
      bias.c.size() != count) {
    return invalid_argument("a, b and c must have ", bias.kernels,
                            " numbers for each head, at least one head; got ", count, ", ",
                            bias.b.size(), " and ", bias.c.size());
  }
  return check_numbers(bias);
}

double formula(const Tisa& of, std::int64_t head, double relative) noexcept {
  const std::size_t first = to_size(head * of.kernels);
  double sum = 0;
  for (std::size_t s = first; s < first + to_size(of.kernels); ++s) {
    const double from_bump = relative - of.c[s];
    sum += of.a[s] * std::exp(-std::fabs(of.b[s]) * from_bump * from_bump);
  }
  return sum;
}

// At b = 0 the derivative of |b| is taken as 0.
void add_gradient(const Tisa& of, std::span<double> sums, const Upstream& upstream) noexcept {
  const std::size_t count = of.a.size();
  const std::size_t first = to_size(upstream.head * of.kernels);
  for (std::size_t s = first; s < first + to_size(of.kernels); ++s) {
    const double from_bump = upstream.term - of.c[s];
    const double sharpness = std::fabs(of.b[s]);
    const double bump = upstream.gradient * std::exp(-sharpness * from_bump * from_bump);
    const double sign = of.b[s] > 0 ? 1 : of.b[s] < 0 ? -1 : 0;
    sums[s] += bump;
    sums[count + s] -= bump * of.a[s] * sign * from_bump * from_bump;
    sums[2 * count + s] += bump * of.a[s] * 2 * sharpness * from_bump;
  }
}

}  // namespace rotary::relative
