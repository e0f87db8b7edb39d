// SPDX-License-Identifier: Apache-2.0
// Axes: rotary embedding for positions with several coordinates, such as time, row and column of a
// video patch. Axes gives each pair of features its coordinate and its frequency.
// docs/theory/axes.md names the layout of each published model.
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

// A member that must be given: a designated initialiser without it does not compile.
template <class T>
class Required {
 public:
  Required() = delete;
  // NOLINTNEXTLINE(google-explicit-constructor): reads as its value
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

// How the pairs i = 0, 1, … of a head are distributed over n axes.
enum class AxisArrangement : std::int32_t {
  // All pairs of the first axis, then all of the second, …: Qwen2-VL, vision towers, Flux.
  blocks = 1,
  // Pair i belongs to axis i % n until that axis has all its pairs; the remaining ones belong to
  // the first axis: Qwen3-VL, NeoMME, Kimi-K2.5, LTX-Video.
  interleaved = 2,
  // The axes before the last take turns; then all pairs of the last: Ernie-4.5-VL (h, w, …, t, t).
  interleaved_then_last = 3,
};

// Every enumerator, in order.
inline constexpr std::array all_axis_arrangements = {
    AxisArrangement::blocks, AxisArrangement::interleaved, AxisArrangement::interleaved_then_last};

// The frequency of each pair. ω_i is the spec's i-th frequency for rotary_dim features.
enum class AxisExponents : std::int32_t {
  // Pair i has ω_i, whatever its axis: M-RoPE of text models. Text, whose coordinates are equal,
  // rotates as with one axis.
  shared = 1,
  // Pair k of an axis with m pairs has base^(-k/m): vision towers, diffusion transformers.
  own = 2,
  // The pairs of axis a of n have ω_a, ω_(a+n), ω_(a+2n), …: Pixtral.
  in_turn = 3,
};

// Every enumerator, in order.
inline constexpr std::array all_axis_exponents = {AxisExponents::shared, AxisExponents::own,
                                                  AxisExponents::in_turn};

// "blocks", "interleaved", "interleaved_then_last"; "shared", "own", "in_turn".
[[nodiscard]] ROTARY_API std::string_view to_string(AxisArrangement arrangement) noexcept;
[[nodiscard]] ROTARY_API std::string_view to_string(AxisExponents exponents) noexcept;

// Lists have one entry for each axis, in the order of a position's coordinates (except `order`).
struct Axes {
  std::vector<std::int64_t> pairs;  // each >= 1; the sum is rotary_dim / 2 (mrope_section)
  AxisArrangement arrangement = AxisArrangement::blocks;
  Required<AxisExponents> exponents;
  // The order in which axes get pairs: {1, 0} for models that put w before h. Empty: 0, 1, ….
  std::vector<std::int64_t> order = {};
  // Base of each axis, finite and > 1 (Cosmos). Empty: the spec's. Only with exponents own.
  std::vector<double> bases = {};
  // Factor on each axis' frequencies: finite, not 0; DINOv3: 2π. Empty: 1.
  std::vector<double> scales = {};

  friend bool operator==(const Axes&, const Axes&) = default;
};

// The axis of each pair, computed from Axes.
struct PairAxes {
  std::int64_t count = 1;  // coordinates of a position, 1..max_axes
  // [pairs], each in 0..count-1; empty for one axis. Empty with count > 1 means dense axes
  // (RoPE-ViT mixed, Mochi): each pair has a frequency for every axis, [count][pairs], and rotates
  // by the sum over the axes of coordinate * frequency.
  std::vector<std::int32_t> of_pair = {};

  [[nodiscard]] bool is_dense() const noexcept { return count > 1 && of_pair.empty(); }
  friend bool operator==(const PairAxes&, const PairAxes&) = default;
};

}  // namespace rotary

#endif  // ROTARY_AXES_HPP
