// SPDX-License-Identifier: Apache-2.0
#include "module/facts.hpp"

namespace rotary::python {

namespace nb = nanobind;

nb::list field_facts(const std::vector<FieldDifference>& fields) {
  nb::list list;
  for (const auto& field : fields) {
    list.append(nb::make_tuple(field.field, field.one, field.other, to_string(field.effect)));
  }
  return list;
}

nb::dict window_facts(const HeadWindow& window) {
  nb::dict facts;
  facts["head_dim"] = window.head_dim;
  facts["rotary_dim"] = window.rotary_dim;
  facts["first_feature"] = window.first_feature;
  facts["pairing"] = to_string(window.pairing);
  facts["blocks"] = window.blocks;
  return facts;
}

}  // namespace rotary::python
