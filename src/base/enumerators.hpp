// SPDX-License-Identifier: Apache-2.0
// Names of public enumerators, and the error for a value that is no enumerator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/described.hpp"
#include "base/message.hpp"
#include "rotary/absolute.hpp"
#include "rotary/describe.hpp"
#include "rotary/model_spec.hpp"
#include "rotary/result.hpp"
#include "rotary/rotary_spec.hpp"
#include "rotary/rotations.hpp"

namespace rotary {

template <>
struct Describe<Pairing> {
  static constexpr std::array enumerators = {
      NamedEnumerator{Pairing::half, "half"}, NamedEnumerator{Pairing::interleaved, "interleaved"},
      NamedEnumerator{Pairing::interleaved_to_half, "interleaved_to_half"}};
};
template <>
struct Describe<AxisArrangement> {
  static constexpr std::array enumerators = {
      NamedEnumerator{AxisArrangement::blocks, "blocks"},
      NamedEnumerator{AxisArrangement::interleaved, "interleaved"},
      NamedEnumerator{AxisArrangement::interleaved_then_last, "interleaved_then_last"}};
};
template <>
struct Describe<AxisExponents> {
  static constexpr std::array enumerators = {NamedEnumerator{AxisExponents::shared, "shared"},
                                             NamedEnumerator{AxisExponents::own, "own"},
                                             NamedEnumerator{AxisExponents::in_turn, "in_turn"}};
};
template <>
struct Describe<Sense> {
  static constexpr std::array enumerators = {NamedEnumerator{Sense::positive, "positive"},
                                             NamedEnumerator{Sense::negative, "negative"}};
};
template <>
struct Describe<Numerics> {
  static constexpr std::array enumerators = {
      NamedEnumerator{Numerics::exact, "exact"},
      NamedEnumerator{Numerics::transformers, "transformers"},
      NamedEnumerator{Numerics::ggml, "ggml"}, NamedEnumerator{Numerics::vllm, "vllm"}};
};
template <>
struct Describe<Rounding> {
  static constexpr std::array enumerators = {
      NamedEnumerator{Rounding::every_step, "every_step"},
      NamedEnumerator{Rounding::table, "table"}, NamedEnumerator{Rounding::result, "result"},
      NamedEnumerator{Rounding::double_angle, "double_angle"}};
};
template <>
struct Describe<Role> {
  static constexpr std::array enumerators = {NamedEnumerator{Role::query, "query"},
                                             NamedEnumerator{Role::key, "key"}};
};
template <>
struct Describe<SinusoidalLayout> {
  static constexpr std::array enumerators = {
      NamedEnumerator{SinusoidalLayout::interleaved, "interleaved"},
      NamedEnumerator{SinusoidalLayout::sin_then_cos, "sin_then_cos"},
      NamedEnumerator{SinusoidalLayout::cos_then_sin, "cos_then_sin"}};
};
template <>
struct Describe<SinusoidalSpacing> {
  static constexpr std::array enumerators = {NamedEnumerator{SinusoidalSpacing::even, "even"},
                                             NamedEnumerator{SinusoidalSpacing::ends, "ends"}};
};
template <>
struct Describe<ModelPart> {
  static constexpr std::array enumerators = {NamedEnumerator{ModelPart::text, "text"},
                                             NamedEnumerator{ModelPart::vision, "vision"},
                                             NamedEnumerator{ModelPart::audio, "audio"}};
};
template <>
struct Describe<Origin> {
  static constexpr std::array enumerators = {
      NamedEnumerator{Origin::stated, "stated"}, NamedEnumerator{Origin::asked, "asked"},
      NamedEnumerator{Origin::class_default, "class_default"},
      NamedEnumerator{Origin::family, "family"}, NamedEnumerator{Origin::rule, "rule"}};
};
template <>
struct Describe<LayerEncoding> {
  static constexpr std::array enumerators = {
      NamedEnumerator{LayerEncoding::rotary, "rotary"},
      NamedEnumerator{LayerEncoding::none, "none"},
      NamedEnumerator{LayerEncoding::alibi, "alibi"},
      NamedEnumerator{LayerEncoding::t5_bias, "t5_bias"},
      NamedEnumerator{LayerEncoding::learned, "learned"},
      NamedEnumerator{LayerEncoding::sinusoidal, "sinusoidal"},
      NamedEnumerator{LayerEncoding::no_attention, "no_attention"}};
};

template <>
struct Describe<ProjectionRows> {
  static constexpr std::array enumerators = {NamedEnumerator{ProjectionRows::kept, "kept"},
                                             NamedEnumerator{ProjectionRows::permuted, "permuted"}};
};

template <class Enum>
[[nodiscard]] std::string_view name_or_unknown(Enum value) noexcept {
  const std::string_view name = enumerator_name(value);
  return name.empty() ? "unknown" : name;
}

template <class Enum, std::size_t... i>
[[nodiscard]] constexpr bool is_among(Enum value, std::index_sequence<i...>) noexcept {
  return ((value == Describe<Enum>::enumerators[i].value) || ...);
}
template <class Enum>
[[nodiscard]] constexpr bool is_enumerator(Enum value) noexcept {
  return is_among(value, std::make_index_sequence<Describe<Enum>::enumerators.size()>());
}

template <class Enum>
[[nodiscard]] Error no_enumerator(std::string_view name, Enum value) {
  return invalid_argument(name, " must be ", enumerator_names<Enum>(), ", got value ",
                          static_cast<std::int32_t>(value));
}

}  // namespace rotary
