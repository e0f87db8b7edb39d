// SPDX-License-Identifier: Apache-2.0
// Sums and lengths are in long double, so that only the implementation's rounding counts.
#include "properties/properties.hpp"

#include <cmath>
#include <complex>
#include <sstream>
#include <vector>

#include "reference/forms.hpp"
#include "reference/frequencies.hpp"
#include "rotary/numeric_contract.hpp"
#include "support/frequency_tolerance.hpp"
#include "support/oracle.hpp"

namespace rotary::test {
namespace {

using PairValue = std::complex<long double>;

long double attention_factor(const Sample& sample) {
  return reference::frequencies(sample.spec).attention_factor;
}

// The largest error of a rotated pair relative to its exact length: √2 times a component's bound.
long double relative_error(const Sample& sample, std::int64_t position,
                           Direction direction = Direction::forward) {
  const auto factor = static_cast<double>(attention_factor(sample));
  return std::sqrt(2.0L) * rotate_error_bound(direction, factor, position) * 0x1p-24L;
}

// A head's features before the rotation or after it: interleaved_to_half permutes them.
enum class Order { before, after };

std::vector<PairValue> pairs_of(const Sample& sample, const std::vector<float>& head, Order order) {
  std::vector<PairValue> pairs;
  for (std::int64_t i = 0; i < sample.window().pairs(); ++i) {
    const auto [first, second] = order == Order::before
                                     ? features_read(sample.window(), Direction::forward, i)
                                     : features_written(sample.window(), Direction::forward, i);
    pairs.emplace_back(head[static_cast<std::size_t>(first)],
                       head[static_cast<std::size_t>(second)]);
  }
  return pairs;
}

long double dot(const std::vector<PairValue>& a, const std::vector<PairValue>& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] * std::conj(b[i])).real();
  return sum;
}

// Σ |x_i| |y_i|. Times the relative error of pairs, it bounds the error of their dot product.
long double dot_scale(const std::vector<PairValue>& x, const std::vector<PairValue>& y) {
  long double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::abs(x[i]) * std::abs(y[i]);
  return sum;
}

// Also true if either is NaN.
bool differ(long double got, long double wanted, long double tolerance) {
  return !(std::abs(got - wanted) <= tolerance);
}

bool differ(const PairValue& got, const PairValue& wanted, long double tolerance) {
  return !(std::abs(got - wanted) <= tolerance);
}

RotarySpec with(Pairing pairing, RotarySpec spec) {
  spec.pairing = pairing;
  return spec;
}

// Reorders the rotated features as (0, 2, 4, …, 1, 3, 5, …).
std::vector<float> in_half_order(const Sample& sample, const std::vector<float>& head) {
  std::vector<float> permuted = head;
  const auto begin = static_cast<std::size_t>(sample.spec.first_feature);
  const auto pairs = static_cast<std::size_t>(sample.window().pairs());
  for (std::size_t i = 0; i < pairs; ++i) {
    permuted[begin + i] = head[begin + 2 * i];
    permuted[begin + pairs + i] = head[begin + 2 * i + 1];
  }
  return permuted;
}

// Moves each rotated pair back to the features that it was read from.
std::vector<float> in_order_before(const Sample& sample, const std::vector<float>& head) {
  std::vector<float> ordered = head;
  for (std::int64_t i = 0; i < sample.window().pairs(); ++i) {
    const auto [x, y] = features_read(sample.window(), Direction::forward, i);
    const auto [first, second] = features_written(sample.window(), Direction::forward, i);
    ordered[static_cast<std::size_t>(x)] = head[static_cast<std::size_t>(first)];
    ordered[static_cast<std::size_t>(y)] = head[static_cast<std::size_t>(second)];
  }
  return ordered;
}

template <class... Parts>
Broken because(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

}  // namespace

Broken keeps_norm(const Implementation& implementation, const Sample& sample) {
  const auto turned = implementation(sample.spec)({.head = sample.x, .position = sample.position});
  const auto before = pairs_of(sample, sample.x, Order::before);
  const auto after = pairs_of(sample, turned, Order::after);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const long double wanted = attention_factor(sample) * std::abs(before[i]);
    const long double tolerance = relative_error(sample, sample.position) * wanted;
    if (differ(std::abs(after[i]), wanted, tolerance)) {
      return because("pair ", i, " has length ", std::abs(after[i]), ", not ", wanted);
    }
  }
  for (std::size_t f = 0; f < sample.x.size(); ++f) {
    if (turns(sample.window(), static_cast<std::int64_t>(f)) || turned[f] == sample.x[f]) continue;
    return because("feature ", f, " is outside the window and changed");
  }
  return {};
}

Broken depends_on_distance_alone(const Implementation& implementation, const Sample& sample) {
  const RotateHead rotate_head = implementation(sample.spec);
  const auto score = [&](std::int64_t m, std::int64_t n) {
    const auto q = rotate_head({.head = sample.x, .position = m, .role = Role::query});
    const auto k = rotate_head({.head = sample.y, .position = n, .role = Role::key});
    return dot(pairs_of(sample, q, Order::after), pairs_of(sample, k, Order::after));
  };
  const auto x = pairs_of(sample, sample.x, Order::before);
  const auto y = pairs_of(sample, sample.y, Order::before);
  const long double gain = attention_factor(sample) * attention_factor(sample);
  const auto tolerance = [&](std::int64_t m, std::int64_t n) {
    const long double q_error = relative_error(sample, m);
    const long double k_error = relative_error(sample, n);
    return gain * dot_scale(x, y) * (q_error + k_error + q_error * k_error);
  };
  const std::int64_t m = sample.position;
  const std::int64_t n = sample.other_position;
  const std::int64_t far_m = m + sample.shift;
  const std::int64_t far_n = n + sample.shift;
  if (differ(score(far_m, far_n), score(m, n), tolerance(m, n) + tolerance(far_m, far_n))) {
    return because("score(", m, ", ", n, ") is ", score(m, n), ", but score(", far_m, ", ", far_n,
                   ") is ", score(far_m, far_n));
  }
  const long double unturned = gain * dot(x, y);
  if (differ(score(m, m), unturned, tolerance(m, m))) {
    return because("score(", m, ", ", m, ") is ", score(m, m), ", not A^2 <q, k> = ", unturned);
  }
  return {};
}

Broken composes(const Implementation& implementation, const Sample& sample) {
  const RotateHead rotate_head = implementation(sample.spec);
  const std::int64_t m = sample.position;
  const std::int64_t n = sample.other_position;
  const auto once = in_order_before(sample, rotate_head({.head = sample.x, .position = n}));
  const auto twice = pairs_of(sample, rotate_head({.head = once, .position = m}), Order::after);
  const auto at_once =
      pairs_of(sample, rotate_head({.head = sample.x, .position = m + n}), Order::after);
  const auto before = pairs_of(sample, sample.x, Order::before);
  const long double factor = attention_factor(sample);
  const long double error_n = relative_error(sample, n);
  const long double error =
      relative_error(sample, m) * (1 + error_n) + error_n + relative_error(sample, m + n);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const PairValue wanted = factor * at_once[i];
    if (differ(twice[i], wanted, factor * factor * std::abs(before[i]) * error)) {
      return because("pair ", i, ": R(", m, ") R(", n, ") gives ", twice[i], ", A R(", m + n,
                     ") gives ", wanted);
    }
  }
  return {};
}

Broken inverse_undoes(const Implementation& implementation, const Sample& sample) {
  const RotateHead rotate_head = implementation(sample.spec);
  const auto turned = rotate_head({.head = sample.x, .position = sample.position});
  const auto back = pairs_of(
      sample,
      rotate_head({.head = turned, .position = sample.position, .direction = Direction::inverse}),
      Order::before);
  const auto before = pairs_of(sample, sample.x, Order::before);
  const long double forward = relative_error(sample, sample.position);
  const long double inverse = relative_error(sample, sample.position, Direction::inverse);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const long double tolerance = std::abs(before[i]) * (forward + inverse * (1 + forward));
    if (differ(back[i], before[i], tolerance)) {
      return because("pair ", i, " comes back as ", back[i], ", was ", before[i]);
    }
  }
  return {};
}

Broken transpose_is_adjoint(const Implementation& implementation, const Sample& sample) {
  const RotateHead rotate_head = implementation(sample.spec);
  const auto forward = rotate_head({.head = sample.x, .position = sample.position});
  const auto transposed = rotate_head(
      {.head = sample.y, .position = sample.position, .direction = Direction::transpose});
  const auto x = pairs_of(sample, sample.x, Order::before);
  const auto y = pairs_of(sample, sample.y, Order::after);
  const long double left = dot(pairs_of(sample, forward, Order::after), y);
  const long double right = dot(x, pairs_of(sample, transposed, Order::before));
  const long double error = relative_error(sample, sample.position) +
                            relative_error(sample, sample.position, Direction::transpose);
  if (differ(left, right, attention_factor(sample) * dot_scale(x, y) * error)) {
    return because("<R x, y> is ", left, ", <x, R^T y> is ", right);
  }
  return {};
}

Broken half_is_permuted_interleaved(const Implementation& implementation, const Sample& sample) {
  const auto permuted = in_half_order(sample, sample.x);
  const auto got = implementation(with(Pairing::half, sample.spec))(
      {.head = permuted, .position = sample.position});
  const auto wanted = in_half_order(sample, implementation(with(Pairing::interleaved, sample.spec))(
                                                {.head = sample.x, .position = sample.position}));
  for (std::size_t f = 0; f < got.size(); ++f) {
    if (got[f] != wanted[f]) {
      return because("feature ", f, " in half order is ", got[f], " by half, ", wanted[f],
                     " by interleaved");
    }
  }
  return {};
}

Broken to_half_is_interleaved_then_permuted(const Implementation& implementation,
                                            const Sample& sample) {
  const Request request{.head = sample.x, .position = sample.position};
  const auto got = implementation(with(Pairing::interleaved_to_half, sample.spec))(request);
  const auto wanted =
      in_half_order(sample, implementation(with(Pairing::interleaved, sample.spec))(request));
  for (std::size_t f = 0; f < got.size(); ++f) {
    if (got[f] != wanted[f]) {
      return because("feature ", f, " is ", got[f], ", by interleaved and permuted ", wanted[f]);
    }
  }
  return {};
}

Broken agrees_with_reference(const Implementation& implementation, const Sample& sample) {
  const reference::Frequencies frequencies = reference::frequencies(sample.spec);
  std::vector<reference::CosSin> angles;
  for (const long double inv_freq : frequencies.inv_freq) {
    angles.push_back(reference::cos_sin(sample.position, static_cast<double>(inv_freq)));
  }
  const std::vector<long double> x(sample.x.begin(), sample.x.end());
  const auto exact = reference::rotate_by_elements(
      x, sample.window(), {.angles = angles, .attention_factor = frequencies.attention_factor});
  const auto got = implementation(sample.spec)({.head = sample.x, .position = sample.position});
  const auto got_pairs = pairs_of(sample, got, Order::after);
  for (std::size_t i = 0; i < got_pairs.size(); ++i) {
    const auto [first, second] =
        features_written(sample.window(), Direction::forward, static_cast<std::int64_t>(i));
    const PairValue wanted(exact[static_cast<std::size_t>(first)],
                           exact[static_cast<std::size_t>(second)]);
    const long double angle_error = std::abs(static_cast<long double>(sample.position)) *
                                    frequencies.inv_freq[i] * frequency_tolerance(sample.spec);
    const long double error = relative_error(sample, sample.position) + angle_error;
    if (differ(got_pairs[i], wanted, std::abs(wanted) * error)) {
      return because("pair ", i, " is ", got_pairs[i], ", by the reference ", wanted);
    }
  }
  return {};
}

}  // namespace rotary::test
