// SPDX-License-Identifier: Apache-2.0
// Axes: rotary embedding for positions with several coordinates, such as time, row and column of a
// video patch. Each pair of a head turns by one coordinate times its frequency. Axes says which
// coordinate, and where the frequency comes from. docs/theory/axes.md names the layout of each
// published model.
//
//   // Qwen2-VL: 16 pairs for t, 24 for h, 24 for w.
//   spec.axes = Axes{.pairs = {16, 24, 24}, .exponents = AxisExponents::shared};
#ifndef ROTARY_AXES_HPP
#define ROTARY_AXES_HPP

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "rotary/export.h"

namespace rotary {

// A member that must be given: leaving it out of a designated initialiser does not compile.
//
//   const RotarySpec spec{.head_dim = 128, .base = 1e4, .pairing = Pairing::half};  // or no spec
template <class T>
class Required {
 public:
  Required() = delete;
  // NOLINTNEXTLINE(google-explicit-constructor): reads as the value it holds
  constexpr Required(T value) : value_(std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator const T&() const noexcept { return value_; }
  [[nodiscard]] constexpr const T& get() const noexcept { return value_; }

  friend constexpr bool operator==(const Required&, const Required&) = default;
  template <class Other>
  friend constexpr bool operator==(const Required& one, const Other& other) {
    return one.value_ == other;
  }

 private:
  T value_;
};

// The most coordinates of a position. Published models have 2 to 4.
inline constexpr std::int64_t max_axes = 8;

// How the pairs of a head, i = 0, 1, …, are dealt to n axes.
enum class AxisArrangement : std::int32_t {
  // All pairs of the first axis, then all of the second, …: M-RoPE of Qwen2-VL, vision towers,
  // Flux.
  blocks = 1,
  // Pair i belongs to axis i % n until that axis has all its pairs, then to the first axis:
  // Qwen3-VL's interleaved M-RoPE; NeoMME, Kimi-K2.5 and LTX-Video, whose axes are equally large.
  interleaved = 2,
  // All axes but the last in turn, then all pairs of the last: Ernie-4.5-VL (h, w, h, w, …, t, t).
  interleaved_then_last = 3,
};

// Every enumerator, in order.
inline constexpr std::array all_axis_arrangements = {
    AxisArrangement::blocks, AxisArrangement::interleaved, AxisArrangement::interleaved_then_last};

// Which frequency a pair has. ω_i is the spec's i-th frequency for rotary_dim features.
enum class AxisExponents : std::int32_t {
  // Pair i has ω_i on any axis: M-RoPE of text models. Text then turns as with one axis.
  shared = 1,
  // Each axis starts its own series: its pair k of m has base^(-k/m). Vision towers, diffusion
  // transformers.
  own = 2,
  // Axis a of n has ω_a, ω_(a+n), ω_(a+2n), …, although its pairs are adjacent: Pixtral.
  in_turn = 3,
};

// Every enumerator, in order.
inline constexpr std::array all_axis_exponents = {AxisExponents::shared, AxisExponents::own,
                                                  AxisExponents::in_turn};

// "blocks", "interleaved", "interleaved_then_last"; "shared", "own", "in_turn".
[[nodiscard]] ROTARY_API std::string_view to_string(AxisArrangement arrangement) noexcept;
[[nodiscard]] ROTARY_API std::string_view to_string(AxisExponents exponents) noexcept;

// Lists have one entry for each axis, in the order of the coordinates of positions.
struct Axes {
  std::vector<std::int64_t> pairs;  // each >= 1 (mrope_section); they sum to rotary_dim / 2
  AxisArrangement arrangement = AxisArrangement::blocks;
  Required<AxisExponents> exponents;
  // The axes in the order in which pairs are dealt to them: {1, 0} for models that put w before h.
  // Empty: 0, 1, ….
  std::vector<std::int64_t> order = {};
  // Base of each axis, finite and > 1 (Cosmos). Empty: the spec's for all. Only with own exponents.
  std::vector<double> bases = {};
  // Factor of each axis' frequencies: finite, not 0. Empty: 1. 2π for coordinates in [-1, 1]
  // (DINOv3).
  std::vector<double> scales = {};

  friend bool operator==(const Axes&, const Axes&) = default;
};

// The axis of each pair, computed from Axes.
struct PairAxes {
  std::int64_t count = 1;  // coordinates of a position, 1..max_axes
  // [pairs], each in 0..count-1. Empty with count > 1: the axes are dense. Each pair then turns by
  // the sum over all axes of coordinate * frequency[count][pairs] (RoPE-ViT mixed, Mochi).
  std::vector<std::int32_t> of_pair = {};

  [[nodiscard]] bool is_dense() const noexcept { return count > 1 && of_pair.empty(); }
  friend bool operator==(const PairAxes&, const PairAxes&) = default;
};

}  // namespace rotary

#endif  // ROTARY_AXES_HPP
