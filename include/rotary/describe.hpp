// SPDX-License-Identifier: Apache-2.0
// The facts of an encoding's parameters, said once beside its aggregate. Counts, names, bounds,
// text forms and the order of flat lists of numbers follow from them.
//
//   for_each_parameter(bias, [](const ParameterFacts& facts, const auto& value) { … });
#pragma once

#include <cstdint>
#include <string_view>

namespace rotary {

// The numbers of a parameter: one; [heads]; [units], of a hidden layer or a sum (an integer of
// this shape is their number);
// [heads][units]; a table [rows][heads].
enum class ParameterShape : std::int32_t {
  one = 1,
  heads = 2,
  units = 3,
  heads_by_units = 4,
  rows_by_heads = 5,
};

// The least and the largest value, both allowed, and the same in words: a message says
// "NAME must be REQUIREMENT, got …".
struct ParameterBounds {
  double least = 0;
  double most = 0;
  std::string_view requirement = {};
};

// From -2^256 to 2^256: no sum of the formulas leaves double.
inline constexpr ParameterBounds any_number = {-0x1p256, 0x1p256, "from -2^256 to 2^256"};
inline constexpr ParameterBounds positive_number = {0x1p-1074, 0x1p256, "> 0 and <= 2^256"};

// Training changes learned parameters; settings are given.
enum class ParameterKind : std::int32_t { learned = 1, setting = 2 };

struct ParameterFacts {
  std::string_view name;  // the member's
  ParameterShape shape = ParameterShape::one;
  ParameterKind kind = ParameterKind::learned;
  ParameterBounds bounds = any_number;  // of numbers; settings that are no doubles have none here
  std::string_view meaning = {};        // one line
};

// Specialised beside each encoding:
//   static constexpr std::string_view name;        the encoding's, in text forms
//   static std::int64_t heads(const Encoding&);    of a valid value
//   static std::int64_t units(const Encoding&);    of a valid value; 0 without such parameters
//   template <class Self, class Visit> static void parameters(Self& self, Visit visit);
//     calls visit(facts, member) for each member, in the order of flat lists
template <class Encoding>
struct Describe;

}  // namespace rotary
