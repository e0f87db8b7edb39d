// SPDX-License-Identifier: Apache-2.0
#include "check/keys.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "check/views.hpp"
#include "reference/forms.hpp"
#include "reference/head_norm.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::check {
namespace {

using Token = std::vector<long double>;

bool is_ordinary(long double number) {
  const long double size = std::abs(number);
  return size == 0 || (size >= 0x1p-100L && size <= 0x1p100L);
}

bool are_ordinary(std::span<const long double> numbers) {
  return std::ranges::all_of(numbers, is_ordinary);
}

// Whether the contract covers the norm. x: the elements before the norm, or their sizes.
bool is_covered(const reference::NormalizedToken& of, std::span<const long double> x) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!is_ordinary(x[i] / of.root_mean_square[i])) return false;
    if (!(std::abs(of.gain[i]) <= 0x1p127L)) return false;
  }
  return true;
}

HeadNorm in_float32(HeadNorm norm) {
  norm.weight_offset = static_cast<float>(norm.weight_offset);
  return norm;
}

}  // namespace

KeyTurn turn_of(const Rotations& rotations, std::int64_t batch, std::int64_t token) {
  return {.window = rotations.window(),
          .row = row_at(rotations, batch, token),
          .attention_factor = rotations.attention_factor()};
}

ExactKeys turned(std::span<const long double> token, const KeyTurn& by) {
  ExactKeys keys;
  const auto features = static_cast<std::size_t>(by.window.head_dim);
  for (std::size_t head = 0; head < token.size(); head += features) {
    const auto values =
        reference::rotate_by_elements(token.subspan(head, features), by.window, {.angles = by.row});
    Token sizes = values;
    for (long double& size : sizes) size = std::abs(size);
    for (std::int64_t pair = 0; pair < by.window.pairs(); ++pair) {
      const auto [x, y] = features_written(by.window, Direction::forward, pair);
      long double& size = sizes[static_cast<std::size_t>(x)];
      size = sizes[static_cast<std::size_t>(y)] =
          std::hypot(size, sizes[static_cast<std::size_t>(y)]);
    }
    keys.values.insert(keys.values.end(), values.begin(), values.end());
    keys.sizes.insert(keys.sizes.end(), sizes.begin(), sizes.end());
  }
  return keys;
}

std::optional<NormalizedKeys> normalized(std::span<const long double> token, std::int64_t heads,
                                         const KeyNorm& k_norm, const std::optional<KeyTurn>& by) {
  const HeadNorm norm = in_float32(k_norm.norm);
  NormalizedKeys keys;
  if (!are_ordinary(token)) return {};
  if (k_norm.order == NormOrder::after_rotation) {
    const ExactKeys before = turned(token, *by);
    const auto made = reference::normalize(before.values, heads, norm);
    if (!are_ordinary(before.sizes) || !is_covered(made, before.sizes)) return {};
    keys.values = made.y;
    for (std::size_t i = 0; i < token.size(); ++i)
      keys.sizes.push_back(std::abs(made.gain[i]) * (before.sizes[i] / made.root_mean_square[i]));
    keys.units.assign(token.size(),
                      normalize_rotated_error_bound(by->attention_factor, by->position));
    return keys;
  }
  const auto made = reference::normalize(token, heads, norm);
  if (!are_ordinary(made.y) || !is_covered(made, token)) return {};
  keys.values = keys.sizes = made.y;
  for (long double& size : keys.sizes) size = std::abs(size);
  keys.units.assign(token.size(), normalize_error_bound);
  if (!by) return keys;
  static_cast<ExactKeys&>(keys) = turned(made.y, *by);
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (turns(by->window, static_cast<std::int64_t>(i) % by->window.head_dim))
      keys.units[i] = rotate_normalized_error_bound(by->attention_factor, by->position);
  }
  return keys;
}

std::string fault(const NormalizedKeys& exact, std::span<const long double> stored, DType dtype) {
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const auto size = static_cast<double>(exact.sizes[i]);
    if (!is_ordinary(size) || (dtype == DType::f16 && size * (1 + 0x1p-10) >= f16_overflow))
      continue;
    const double bound =
        size == 0 ? 0 : stored_error_bound(dtype, exact.units[i], size) * 0x1p-24 * size;
    if (std::abs(stored[i] - exact.values[i]) <= bound) continue;
    return fault_text("number " + std::to_string(i), static_cast<double>(stored[i]),
                      static_cast<double>(exact.values[i]), bound);
  }
  return {};
}

bool Int8Head::is_zero() const {
  return std::ranges::all_of(elements, [](std::int8_t element) { return element == 0; });
}

bool Int8Head::has_bits_of(const Int8Head& other) const {
  const bool same = scale == other.scale || (std::isnan(scale) && std::isnan(other.scale));
  return same && elements == other.elements;
}

Int8Head in_int8(std::span<const float> numbers) {
  Int8Head head{.elements = std::vector<std::int8_t>(numbers.size())};
  float most = 0;
  for (const float number : numbers) {
    if (!std::isfinite(number)) head.scale = std::numeric_limits<float>::quiet_NaN();
    most = std::max(most, std::abs(number));
  }
  if (std::isnan(head.scale) || most < 0x1p-100F) return head;
  head.scale = most / 127;
  std::ranges::transform(numbers, head.elements.begin(), [most](float number) {
    return static_cast<std::int8_t>(std::nearbyintf(number * (127 / most)));
  });
  return head;
}

std::string shift_fault(const Int8Head& before, const Int8Head& after, const KeyTurn& by) {
  if (!std::isfinite(before.scale))
    return std::isfinite(after.scale) ? "a NaN or Inf scale must stay NaN or Inf" : "";
  if (before.is_zero()) {
    const bool stays = after.scale == 0 && after.is_zero();
    return stays ? "" : "a head of zeros must stay zero and get scale 0";
  }
  if (std::ranges::count(after.elements, -128) > 0) return "a new element must not be -128";
  const Token elements(before.elements.begin(), before.elements.end());
  const ExactKeys exact = turned(elements, by);
  long double largest = 0;
  for (const long double value : exact.values) largest = std::max(largest, std::abs(value));
  const auto is_normal = [](long double scale) {
    return std::abs(scale) >= 0x1p-126L && std::abs(scale) <= 0x1p127L;
  };
  const long double scale = before.scale;
  const long double wanted = scale * largest / 127;
  if (!is_normal(scale) || !is_normal(wanted)) return {};
  // Two roundings, and the error of the largest element: up to √2 times its pair's bound.
  const double units =
      2 + std::numbers::sqrt2 *
              rotate_error_bound(Direction::forward, by.attention_factor, by.position);
  const auto within = static_cast<double>(units * 0x1p-24L * (1 + 0x1p-10L) * std::abs(wanted));
  if (!(std::abs(after.scale - wanted) <= within))
    return fault_text("scale", after.scale, static_cast<double>(wanted), within);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const bool moves = turns(by.window, static_cast<std::int64_t>(i));
    const auto hypot = moves ? static_cast<double>(std::abs(scale) * exact.sizes[i]) : 0;
    const double bound =
        shift_int8_error_bound(by.attention_factor, by.position, after.scale, hypot);
    const auto value = static_cast<double>(scale * exact.values[i]);
    const double got = static_cast<double>(after.scale) * after.elements[i];
    if (!(std::abs(got - value) <= bound))
      return fault_text("feature " + std::to_string(i), got, value, bound);
  }
  const auto is_most = [](std::int8_t element) { return element == 127 || element == -127; };
  return std::ranges::any_of(after.elements, is_most) ? "" : "the largest |element| must be 127";
}

}  // namespace rotary::check
