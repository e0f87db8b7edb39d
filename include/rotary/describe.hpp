// SPDX-License-Identifier: Apache-2.0
// Facts about an encoding's parameters: names, bounds, shapes, and their order in flat lists.
//
//   for_each_parameter(bias, [](const ParameterFacts& facts, const auto& value) { … });
#ifndef ROTARY_DESCRIBE_HPP
#define ROTARY_DESCRIBE_HPP

#include <cstdint>
#include <string_view>

namespace rotary {

// The shape of a parameter: a number; [heads]; [units] of a hidden layer (an integer holds their
// number); [heads][units]; a table [rows][heads]; [rotary_dim / 2].
enum class ParameterShape : std::int32_t {
  one = 1,
  heads = 2,
  units = 3,
  heads_by_units = 4,
  rows_by_heads = 5,
  pairs = 6,
};

// The least and the largest allowed value. In messages: "NAME must be REQUIREMENT, got …".
struct ParameterBounds {
  double least = 0;
  double most = 0;
  std::string_view requirement = {};
};

// Numbers of at most 2^256 cannot overflow a sum in a formula.
inline constexpr ParameterBounds any_number = {-0x1p256, 0x1p256, "from -2^256 to 2^256"};
inline constexpr ParameterBounds positive_number = {0x1p-1074, 0x1p256, "> 0 and <= 2^256"};
inline constexpr ParameterBounds finite_number = {-0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023,
                                                  "finite"};
inline constexpr ParameterBounds finite_positive = {0x1p-1074, 0x1.fffffffffffffp1023,
                                                    "finite and > 0"};
inline constexpr ParameterBounds positive_count = {1, 0x1p63, "> 0"};
inline constexpr ParameterBounds unit_interval = {0, 1, "in [0, 1]"};

// Whether training changes a parameter.
enum class ParameterKind : std::int32_t { learned = 1, setting = 2 };

// The distribution of initial numbers in the authors' code. none: nothing is learned, or the
// distribution depends on sizes of the model (T5, FIRE).
enum class StartKind : std::int32_t { none = 1, uniform = 2, normal = 3 };
// The distribution of a learned parameter's initial numbers.
struct ParameterStart {
  StartKind kind = StartKind::none;
  double first = 0;   // uniform: the lower end; normal: the mean
  double second = 0;  // uniform: the upper end; normal: the standard deviation
};

// One parameter.
struct ParameterFacts {
  std::string_view name;  // the member; for scaling rules the key in configs
  ParameterShape shape = ParameterShape::one;
  ParameterKind kind = ParameterKind::learned;
  // For doubles, and for integers of scaling rules. An integer of a bias must be given if its
  // default is below the least.
  ParameterBounds bounds = any_number;
  std::string_view meaning = {};  // one line
  ParameterStart start = {};
};

// Specialised for each encoding with:
//   static constexpr std::string_view name;
//   static std::int64_t heads(const Encoding&);    for a valid value
//   static std::int64_t units(const Encoding&);    for a valid value; 0 without units
//   template <class Self, class Visit> static void parameters(Self& self, Visit visit);
//     calls visit(facts, member) for each member, in the order of flat lists
// for each scaling rule with:
//   static constexpr std::string_view name;      its rope_type
//   static constexpr std::string_view sentence;  for people; {KEY} stands for a parameter's value
//   parameters(self, visit), as above
//   static bool depends_on_context(const Rule&);  only if frequencies depend on the context
//   length
// and for each enumeration that is a parameter of a rule with:
//   static constexpr std::array enumerators;  of NamedEnumerator, the default first
template <class Encoding>
struct Describe;

// An enumerator and its name in configs and specs.
template <class Enum>
struct NamedEnumerator {
  Enum value;
  std::string_view name;
};
template <class Enum>  // for compilers without P1816
NamedEnumerator(Enum, std::string_view)->NamedEnumerator<Enum>;

// The name of an enumerator; "" for other values.
template <class Enum>
[[nodiscard]] constexpr std::string_view enumerator_name(Enum value) noexcept {
  for (const auto& each : Describe<Enum>::enumerators) {
    if (each.value == value) return each.name;
  }
  return {};
}
// Whether the value is the default, which specs leave out.
template <class Enum>
[[nodiscard]] constexpr bool is_default(Enum value) noexcept {
  return value == Describe<Enum>::enumerators.front().value;
}

// The facts of a setting.
[[nodiscard]] constexpr ParameterFacts setting(std::string_view name, ParameterBounds bounds,
                                               std::string_view meaning) noexcept {
  return {.name = name, .kind = ParameterKind::setting, .bounds = bounds, .meaning = meaning};
}
// The facts of a learned parameter.
[[nodiscard]] constexpr ParameterFacts learned(std::string_view name, ParameterShape shape,
                                               std::string_view meaning,
                                               ParameterBounds bounds = any_number,
                                               ParameterStart start = {}) noexcept {
  return {.name = name, .shape = shape, .bounds = bounds, .meaning = meaning, .start = start};
}

// The facts of a setting with one number for each pair.
[[nodiscard]] constexpr ParameterFacts setting_of_pairs(std::string_view name,
                                                        ParameterBounds bounds,
                                                        std::string_view meaning) noexcept {
  auto facts = setting(name, bounds, meaning);
  facts.shape = ParameterShape::pairs;
  return facts;
}

}  // namespace rotary

#endif  // ROTARY_DESCRIBE_HPP
