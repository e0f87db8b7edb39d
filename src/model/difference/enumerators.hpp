// SPDX-License-Identifier: Apache-2.0
// The names of the enumerators in rotary/model_difference.hpp.
#pragma once

#include <array>

#include "base/enumerators.hpp"
#include "rotary/model_difference.hpp"
#include "rotary/model_spec.hpp"

namespace rotary {

template <>
struct Describe<LengthPolicy> {
  static constexpr std::array enumerators = {
      NamedEnumerator{LengthPolicy::each_call, "each_call"},
      NamedEnumerator{LengthPolicy::kept_above_trained, "kept_above_trained"},
      NamedEnumerator{LengthPolicy::last_long_call, "last_long_call"},
      NamedEnumerator{LengthPolicy::longest_call, "longest_call"},
      NamedEnumerator{LengthPolicy::whole_context, "whole_context"}};
};
template <>
struct Describe<FieldEffect> {
  static constexpr std::array enumerators = {NamedEnumerator{FieldEffect::rows, "rows"},
                                             NamedEnumerator{FieldEffect::model, "model"},
                                             NamedEnumerator{FieldEffect::nothing, "nothing"}};
};
template <>
struct Describe<Agreement> {
  static constexpr std::array enumerators = {NamedEnumerator{Agreement::same, "same"},
                                             NamedEnumerator{Agreement::different, "different"},
                                             NamedEnumerator{Agreement::unknown, "unknown"}};
};

}  // namespace rotary
