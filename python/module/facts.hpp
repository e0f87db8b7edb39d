// SPDX-License-Identifier: Apache-2.0
// Values of the library as plain ones of Python, from which the sources beside the module make
// dataclasses.
#pragma once

#include <optional>
#include <vector>

#include "module/casters.hpp"
#include "rotary/model_difference.hpp"
#include "rotary/rotary_spec.hpp"

namespace rotary::python {

template <class T>
[[nodiscard]] nanobind::object or_none(const std::optional<T>& value) {
  return value ? nanobind::cast(*value) : nanobind::none();
}

// (field, one, other, effect) of each.
[[nodiscard]] nanobind::list field_facts(const std::vector<FieldDifference>& fields);

// head_dim, rotary_dim, first_feature, pairing and blocks.
[[nodiscard]] nanobind::dict window_facts(const HeadWindow& window);

}  // namespace rotary::python
