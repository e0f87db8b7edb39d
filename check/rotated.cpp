// SPDX-License-Identifier: Apache-2.0
#include "check/rotated.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

#include "check/views.hpp"
#include "reference/forms.hpp"
#include "reference/recipes.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::check {
namespace {

bool is_covered(DType dtype, const std::array<long double, 2>& before, long double hypot) {
  if (!std::isfinite(before[0]) || !std::isfinite(before[1])) return false;
  if (hypot == 0) return before[0] == 0 && before[1] == 0;
  const long double most = dtype == DType::f64 ? 0x1p900L : 0x1p100L;
  return hypot >= 1 / most && hypot <= most;
}

}  // namespace

std::pair<std::int64_t, std::int64_t> features_read(const HeadWindow& window, Direction direction,
                                                    std::int64_t pair) noexcept {
  const bool is_forward = direction == Direction::forward;
  const std::int64_t begin = window.first_feature;
  if (is_forward ? reference::reads_neighbours(window.pairing)
                 : reference::writes_neighbours(window.pairing)) {
    return {begin + 2 * pair, begin + 2 * pair + 1};
  }
  const std::int64_t of_block = window.pairs() / window.blocks;
  const std::int64_t first = begin + pair + pair / of_block * of_block;
  return {first, first + of_block};
}

std::pair<std::int64_t, std::int64_t> features_written(const HeadWindow& window,
                                                       Direction direction,
                                                       std::int64_t pair) noexcept {
  const bool forward = direction == Direction::forward;
  return features_read(window, forward ? Direction::inverse : Direction::forward, pair);
}

bool turns(const HeadWindow& window, std::int64_t feature) noexcept {
  return feature >= window.first_feature && feature < window.first_feature + window.rotary_dim;
}

double error_unit(DType dtype) noexcept { return dtype == DType::f64 ? 0x1p-53 : 0x1p-24; }

double error_bound(const Rotated& by, long double hypot) noexcept {
  const auto [direction, factor, position] =
      std::tuple(by.direction, by.attention_factor, by.position);
  switch (by.dtype) {
    case DType::f32:
      return rotate_error_bound(direction, factor, position);
    case DType::bf16:
      return rotate_bf16_error_bound(direction, factor, position);
    case DType::f16:
      return rotate_f16_error_bound(direction, factor, position, static_cast<double>(hypot));
    case DType::f64:
      return by.by_xpos ? xpos_rotate_f64_error_bound(direction, position)
                        : rotate_f64_error_bound(direction, factor, position);
  }
  return 0;
}

double error_units(const Rotated& by, double got, long double exact, long double hypot) noexcept {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  if (by.dtype == DType::f16) {
    const long double float_error =
        0x1p-24L * hypot * rotate_error_bound(by.direction, by.attention_factor, by.position);
    const bool may_be_infinite = std::abs(exact) + float_error >= f16_overflow;
    const bool must_be_infinite = std::abs(exact) - float_error >= f16_overflow;
    if (std::isinf(got)) return may_be_infinite && (got > 0) == (exact > 0) ? 0 : wrong;
    if (must_be_infinite) return wrong;
  }
  const long double error = std::abs(got - exact);
  if (error == 0) return 0;
  return hypot == 0 || std::isnan(error)
             ? wrong
             : static_cast<double>(error / (error_unit(by.dtype) * hypot));
}

PairError pair_error(const Rotated& by, const std::array<double, 2>& got,
                     const std::array<long double, 2>& exact) noexcept {
  const long double hypot = std::hypot(exact[0], exact[1]);
  return {.units = std::max(error_units(by, got[0], exact[0], hypot),
                            error_units(by, got[1], exact[1], hypot)),
          .bound = hypot == 0 ? 0 : error_bound(by, hypot)};
}

double rounded(DType dtype, double number) {
  return dtype == DType::f64 ? number : reference::nearest(dtype, number);
}

bool is_rounded(DType dtype, double got, double number) {
  if (std::isnan(number)) return std::isnan(got);
  return std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(rounded(dtype, number));
}

bool is_stored(const Rotated& by, double got, double number) {
  const bool is_flushed = by.flushes && got == 0 && std::abs(number) < 0x1p-126 &&
                          std::signbit(got) == std::signbit(number);
  return is_flushed || is_rounded(by.dtype, got, number);
}

std::string rotated_fault(const HeadWindow& window, const RotatedFeatures& head, Rotated by,
                          const std::function<long double(std::int64_t)>& position_of) {
  const auto at = [](const auto& features, std::int64_t f) {
    return features[static_cast<std::size_t>(f)];
  };
  for (std::int64_t f = 0; f < window.head_dim; ++f) {
    const auto number = static_cast<double>(at(head.before, f));
    if (turns(window, f) || is_stored(by, at(head.got, f), number)) continue;
    return fault_text("feature " + std::to_string(f) + ", which is unrotated", at(head.got, f),
                      number, 0);
  }
  for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
    const auto [x, y] = features_read(window, by.direction, pair);
    const auto [to_x, to_y] = features_written(window, by.direction, pair);
    const long double hypot = std::hypot(at(head.exact, to_x), at(head.exact, to_y));
    if (!is_covered(by.dtype, {at(head.before, x), at(head.before, y)}, hypot)) continue;
    by.position = position_of(pair);
    const double bound = hypot == 0 ? 0 : error_bound(by, hypot);
    for (const std::int64_t f : {to_x, to_y}) {
      if (error_units(by, at(head.got, f), at(head.exact, f), hypot) <= bound) continue;
      return fault_text("feature " + std::to_string(f), at(head.got, f),
                        static_cast<double>(at(head.exact, f)),
                        bound * error_unit(by.dtype) * static_cast<double>(hypot));
    }
  }
  return {};
}

}  // namespace rotary::check
