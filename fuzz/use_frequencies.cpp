// SPDX-License-Identifier: Apache-2.0
#include "fuzz/use_frequencies.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "check/rotated.hpp"
#include "fuzz/check.hpp"
#include "rotary/numeric_contract.hpp"
#include "rotary/positions.hpp"
#include "rotary/rotate.hpp"
#include "rotary/rotations.hpp"
#include "tests/support/tensor.hpp"

namespace rotary::fuzz {
namespace {

constexpr std::int64_t largest_head = 512;  // rotating larger heads takes long
constexpr std::int64_t tokens = 2;

void check_numbers(const Frequencies& frequencies) {
  const double factor = frequencies.attention_factor;
  if (!(factor >= 0x1p-20 && factor <= 0x1p20)) fail("A must be in [2^-20, 2^20]");
  const auto pairs = static_cast<std::size_t>(frequencies.window.pairs());
  if (frequencies.inv_freq.size() != pairs || frequencies.turns.size() != pairs) {
    fail("there must be one frequency for each pair");
  }
  if (frequencies.contexts.first > frequencies.contexts.last)
    fail("frequencies must be valid for some context");
  for (const double inv_freq : frequencies.inv_freq) {
    if (!(std::abs(inv_freq) < 0x1p40)) fail("inv_freq must be in (-2^40, 2^40)");
  }
}

// The factor on a pair's length: A; with xPos, the length of the pair's (cos, sin).
double factor_of(const Rotations& rotations, std::int64_t token, std::int64_t pair) {
  if (!rotations.role()) return rotations.attention_factor();
  const auto at = static_cast<std::size_t>(pair);
  return std::hypot(static_cast<double>(rotations.cos(0, token)[at]),
                    static_cast<double>(rotations.sin(0, token)[at]));
}

// The bound of a component, in units of 2^-24 * hypot. Exact numerics round once. Other numerics
// round cos, A (ggml: four times) and their product.
double component_bound(const Rotations& rotations, double factor) {
  const double exact = rotate_error_bound(Direction::forward, factor, 0);
  return rotations.numerics() == Numerics::exact ? exact : exact + 5 * (1 + 0x1p-20);
}

struct Grown {
  double factor;  // factor on a pair's length
  double bound;   // for a component, in units of 2^-24 * hypot
};

void check_pair(const std::array<double, 2>& in, const std::array<double, 2>& out, Grown grown) {
  const double exact = std::hypot(in[0], in[1]) * grown.factor;
  const double got = std::hypot(out[0], out[1]);
  // Each component is within the bound, so their hypot is within √2 of it. An error of the angle
  // rotates a pair without stretching it.
  const double bound = std::sqrt(2.0) * grown.bound * 0x1p-24;
  if (!(std::abs(got - exact) <= bound * exact)) fail("a pair must keep its length times A");
}

void check_rotated(const test::Tensor& before, const test::Tensor& after,
                   const Rotations& rotations) {
  const HeadWindow& window = rotations.window();
  for (std::int64_t token = 0; token < tokens; ++token) {
    const test::HeadIndex at{.token = token};
    for (std::int64_t f = 0; f < window.head_dim; ++f) {
      if (!check::turns(window, f) && after.at(at, f) != before.at(at, f)) {
        fail("features outside the window must stay");
      }
    }
    for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
      const auto [x, y] = check::features_read(window, Direction::forward, pair);
      const auto [to_x, to_y] = check::features_written(window, Direction::forward, pair);
      const double factor = factor_of(rotations, token, pair);
      check_pair({before.at(at, x), before.at(at, y)}, {after.at(at, to_x), after.at(at, to_y)},
                 {.factor = factor, .bound = component_bound(rotations, factor)});
    }
  }
}

void rotate_by(const Rotations& rotations) {
  const Extents extents{.tokens = tokens, .heads = 1, .features = rotations.window().head_dim};
  test::Tensor before({.dtype = DType::f32, .extents = extents});
  test::for_each_element(extents, [&](const test::HeadIndex& at, std::int64_t f) {
    before.set(at, f, static_cast<double>((at.token * extents.features + f) % 7 - 3));
  });
  test::Tensor after = before;
  if (const Status status = rotate(after.view(), after.view(), rotations); !status) {
    fail("a head must rotate", status.error().message);
  }
  check_rotated(before, after, rotations);
  if (!after.guards_intact()) fail("rotate must not write beside the tensor");
}

void rotate_at(const Frequencies& frequencies, const Positions& positions) {
  const auto rotations = make_rotations(frequencies, positions, {.tensors = DType::f32});
  if (!rotations && frequencies.contexts.last < ContextRange{}.last) {
    check_error(rotations.error());  // beyond the context
    return;
  }
  if (!rotations) fail("frequencies must make rotations", rotations.error().message);
  rotate_by(*rotations);
}

// Positions too far from the center give an error.
void rotate_by_xpos(const Frequencies& frequencies) {
  const double center = frequencies.xpos->center;
  for (const std::array<double, tokens>& places :
       {std::array{center, center + 0.5}, {0.0, 131071.0}, {center - 1000, center + 16000}}) {
    for (const Role role : {Role::query, Role::key}) {
      const auto rotations = make_rotations(
          frequencies, positions_of(std::span<const double>(places)), {.role = role});
      if (rotations) {
        rotate_by(*rotations);
      } else {
        check_error(rotations.error());
      }
    }
  }
}

void check_layer(const ModelSpec& model, const ModelLayer& layer) {
  if (to_string(layer.encoding) == "unknown") fail("a layer must have an encoding");
  if (layer.encoding == LayerEncoding::rotary && layer.rotary >= model.rotary.size()) {
    fail("a rotary layer must have its rotary embedding");
  }
  for (const std::int64_t position : {std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
    const double factor = query_factor(layer.query_temperature, position);
    if (!(factor >= 1) || !std::isfinite(factor)) fail("a query factor must be finite and >= 1");
  }
}

}  // namespace

void use_frequencies(const Frequencies& frequencies) {
  check_numbers(frequencies);
  if (frequencies.window.head_dim > largest_head) return;
  if (frequencies.xpos) {
    rotate_by_xpos(frequencies);
    return;
  }
  rotate_at(frequencies, ConsecutivePositions{.first = 0, .tokens = tokens});
  rotate_at(frequencies, ConsecutivePositions{.first = 131071, .tokens = tokens});
  const auto rotate_far = [&]<class Number>(Number) {
    using Limits = std::numeric_limits<Number>;
    const std::array<Number, tokens> far = {Limits::min(), Limits::max()};
    rotate_at(frequencies, positions_of(std::span<const Number>(far)));
  };
  rotate_far(std::int32_t{});
  if (frequencies.numerics == Numerics::ggml) return;  // supports no other positions
  rotate_far(std::int64_t{});
  const std::array<double, tokens> between = {0.5, -4096.25};
  rotate_at(frequencies, positions_of(std::span<const double>(between)));
  if (frequencies.axes.count == 1) return;
  std::vector<double> coordinates;  // far away, and whole on some axes
  for (std::int64_t i = 0; i < tokens * frequencies.axes.count; ++i)
    coordinates.push_back(i % 3 == 0 ? -0x1p40 : static_cast<double>(i) + 0.25);
  rotate_at(frequencies, positions_of(coordinates, 1, frequencies.axes.count));
}

void check_model(const ModelSpec& model, const std::optional<std::int64_t>& context) {
  for (const std::string& warning : model.warnings) check_text(warning);
  for (const ModelLayer& layer : model.layers) check_layer(model, layer);
  for (const ModelRotary& rotary : model.rotary) {
    if (!std::isfinite(rotary.softmax_factor)) fail("a softmax factor must be finite");
    const auto frequencies = make_frequencies(
        rotary.spec, (context ? context : rotary.trained_context_tokens).value_or(1));
    if (!frequencies) fail("a resolved spec must be valid", frequencies.error().message);
    use_frequencies(*frequencies);
  }
}

}  // namespace rotary::fuzz
