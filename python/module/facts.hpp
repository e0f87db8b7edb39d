// SPDX-License-Identifier: Apache-2.0
// Converts the library's values to plain Python values, from which the Python sources make
// dataclasses.
#pragma once

#include <optional>
#include <vector>

#include "module/module.hpp"
#include "rotary/model_difference.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::python {

template <class Enum>
[[nodiscard]] nb::object name_or_none(const std::optional<Enum>& value) {
  return value ? nb::cast(to_string(*value)) : nb::none();
}

// Each item: (field, one, other, effect).
[[nodiscard]] inline nb::list field_facts(const std::vector<FieldDifference>& fields) {
  nb::list list;
  for (const auto& field : fields)
    list.append(nb::make_tuple(field.field, field.one, field.other, to_string(field.effect)));
  return list;
}

[[nodiscard]] inline nb::dict window_facts(const HeadWindow& window) {
  nb::dict facts;
  facts["head_dim"] = window.head_dim;
  facts["rotary_dim"] = window.rotary_dim;
  facts["first_feature"] = window.first_feature;
  facts["pairing"] = to_string(window.pairing);
  facts["blocks"] = window.blocks;
  return facts;
}

}  // namespace rotary::python
