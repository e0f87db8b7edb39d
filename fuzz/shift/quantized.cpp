// SPDX-License-Identifier: Apache-2.0
#include "fuzz/shift/quantized.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "fuzz/check.hpp"
#include "fuzz/shift/shift_case.hpp"
#include "fuzz/turned.hpp"
#include "rotary/numeric_contract.hpp"

namespace rotary::fuzz {
namespace {

// The elements turned, and of each the hypot of its pair, 0 where it does not turn.
struct TurnedElements {
  std::vector<long double> values;
  std::vector<long double> hypots;

  [[nodiscard]] long double largest() const {
    long double most = 0;
    for (const long double value : values) most = std::max(most, std::abs(value));
    return most;
  }
};

TurnedElements turn(const QuantizedHead& head, const TurnedBy& by) {
  TurnedElements turned{.values = {head.elements.begin(), head.elements.end()}, .hypots = {}};
  turned.hypots.resize(turned.values.size());
  const HeadWindow& window = by.rotations.window();
  for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
    const PairFeatures at = features_of(window, by.direction, pair);
    const RowOfPair row = row_of_pair(by, pair);
    const auto x_at = static_cast<std::size_t>(at.written_x);
    const auto y_at = static_cast<std::size_t>(at.written_y);
    const long double x = head.elements[static_cast<std::size_t>(at.read_x)];
    const long double y = head.elements[static_cast<std::size_t>(at.read_y)];
    turned.values[x_at] = x * row.cos - y * row.sin;
    turned.values[y_at] = x * row.sin + y * row.cos;
    turned.hypots[x_at] = turned.hypots[y_at] =
        std::hypot(turned.values[x_at], turned.values[y_at]);
  }
  return turned;
}

void check_scale(const QuantizedHead& before, const QuantizedHead& after, long double largest) {
  const long double exact = before.scale * largest / 127;
  // Two roundings, and the error of the largest element: √2 times that of a pair's component.
  const long double error =
      (2 + 3 * std::sqrt(2.0L)) * 0x1p-24L * (1 + 0x1p-10L) + std::sqrt(2.0L) * 0x1p-50L;
  if (!(std::abs(after.scale - exact) <= error * std::abs(exact))) {
    fail("the new scale must be scale * m/127");
  }
}

void check_elements(const QuantizedHead& before, const QuantizedHead& after,
                    const TurnedElements& turned, double factor) {
  const long double scale = before.scale;
  for (std::size_t i = 0; i < after.elements.size(); ++i) {
    const long double exact = scale * turned.values[i];
    const long double got = static_cast<long double>(after.scale) * after.elements[i];
    const auto hypot = static_cast<double>(std::abs(scale) * turned.hypots[i]);
    const double bound = shift_int8_error_bound(factor, 0, after.scale, hypot);
    if (!(std::abs(got - exact) <= bound)) fail("a quantized key must be turned within the bound");
  }
}

void check_head(const QuantizedHead& before, const QuantizedHead& after, const TurnedBy& by) {
  if (!std::isfinite(before.scale)) {
    if (std::isfinite(after.scale)) fail("a scale that is not finite must stay so");
    return;
  }
  if (before.is_zero()) {
    if (after.scale != 0 || after.elements != before.elements) {
      fail("a head of zeros must keep them and get scale 0");
    }
    return;
  }
  for (const std::int8_t element : after.elements) {
    if (element == -128) fail("a new element must not be -128");
  }
  const TurnedElements turned = turn(before, by);
  const long double largest = turned.largest();
  const auto is_normal = [](long double scale) {
    return std::abs(scale) >= 0x1p-126L && std::abs(scale) <= 0x1p127L;
  };
  if (!is_normal(before.scale) || !is_normal(before.scale * largest / 127)) return;
  check_scale(before, after, largest);
  check_elements(before, after, turned, by.rotations.attention_factor());
}

}  // namespace

void check_quantized(const QuantizedHeadsView& keys, const Rotations& by, const Memory& memory) {
  Strided heads = elements_of(keys);
  if (is_empty(heads)) return;
  heads.counts[3] = 1;
  for_each_element(heads, [&](const Axes& index) {
    check_head(head_at(keys, memory.before.data(), memory, index),
               head_at(keys, memory.after.data(), memory, index),
               {.rotations = by, .batch = index[0], .token = index[1]});
  });
}

}  // namespace rotary::fuzz
