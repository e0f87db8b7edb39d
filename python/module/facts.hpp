// SPDX-License-Identifier: Apache-2.0
// Values of the library as plain ones of Python, from which the sources beside the module make
// dataclasses.
#pragma once

#include <optional>
#include <vector>

#include "module/module.hpp"
#include "rotary/model_difference.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::python {

template <class T>
[[nodiscard]] nb::object or_none(const std::optional<T>& value) {
  return value ? nb::cast(*value) : nb::none();
}

// (field, one, other, effect) of each.
[[nodiscard]] inline nb::list field_facts(const std::vector<FieldDifference>& fields) {
  nb::list list;
  for (const auto& field : fields)
    list.append(nb::make_tuple(field.field, field.one, field.other, to_string(field.effect)));
  return list;
}

// head_dim, rotary_dim, first_feature, pairing and blocks.
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
