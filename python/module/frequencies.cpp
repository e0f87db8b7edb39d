// SPDX-License-Identifier: Apache-2.0
#include "rotary/frequencies.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "module/errors.hpp"
#include "module/facts.hpp"
#include "module/module.hpp"
#include "rotary/spec_json.hpp"

namespace rotary::python {
namespace {

Frequencies of_spec(std::string_view spec, std::optional<std::int64_t> context) {
  return take(make_frequencies(take(parse_rotary_spec(spec)), context));
}

// Returns the spec as to_json() writes it, so that equal specs have equal texts.
std::string checked_spec(std::string_view spec) {
  const RotarySpec read = take(parse_rotary_spec(spec));
  return take(to_json(read));
}

nb::dict facts_of(const Frequencies& frequencies) {
  nb::dict facts = window_facts(frequencies.window);
  facts["attention_factor"] = frequencies.attention_factor;
  facts["first_context"] = frequencies.contexts.first;
  facts["last_context"] = frequencies.contexts.last;
  facts["axes"] = frequencies.axes.count;
  facts["axis_of_pair"] = frequencies.axes.of_pair;
  return facts;
}

}  // namespace

void bind_frequencies(nb::module_& module) {
  nb::class_<Frequencies>(module, "Frequencies")
      .def_static("of_spec", of_spec)
      .def("inv_freq", [](const Frequencies& self) { return self.inv_freq; })
      .def("facts", facts_of)
      .def("rotate_alike", [](const Frequencies& self, const Frequencies& other) {
        return rotate_alike(self, other);
      });
  module.def("checked_spec", checked_spec);
  module.def("depends_on_context", [](std::string_view spec) {
    return depends_on_context(take(parse_rotary_spec(spec)).scaling);
  });
}

}  // namespace rotary::python
