// SPDX-License-Identifier: Apache-2.0
// rotary._core: the public headers as Python calls. Names, defaults and checks of types are those
// of the Python sources beside it; here are values, views and errors.

#include <string>

#include "module/errors.hpp"
#include "module/parts.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/version.hpp"

NB_MODULE(_core, module) {
  using namespace rotary::python;
  // Objects that torch holds until the process ends are no leaks.
  nanobind::set_leak_warnings(false);
  module.attr("version") = ROTARY_VERSION_STRING;
  module.def("instruction_set", [] { return std::string(take(rotary::instruction_set())); });
  bind_frequencies(module);
  bind_rotations(module);
  bind_axis_positions(module);
  bind_models(module);
  bind_identify(module);
  bind_caches(module);
  bind_bias(module);
  bind_attention(module);
}
