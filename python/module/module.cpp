// SPDX-License-Identifier: Apache-2.0
// rotary._core binds the public headers. It converts values, views and errors. The Python sources
// have the public names, defaults and type checks.

#include "module/module.hpp"

#include <string>

#include "module/errors.hpp"
#include "rotary/instruction_set.hpp"
#include "rotary/version.hpp"

NB_MODULE(core_of_main_interpreter, module) {
  using namespace rotary::python;
  // torch keeps objects until the process ends, which nanobind would report as leaks.
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

namespace {

using Run = int (*)(PyObject*);
Run run_module = nullptr;  // the function of nanobind that runs the module

// The process has one state of the module. A second interpreter is refused, because it would use
// the state of the first.
int run_in_main_interpreter(PyObject* module) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return run_module(module);
  PyErr_SetString(PyExc_ImportError,
                  "rotary must be imported in the main interpreter of a process, got another");
  return -1;
}

}  // namespace

extern "C" NB_EXPORT PyObject* PyInit__core() {
  PyObject* const definition = PyInit_core_of_main_interpreter();
  if (definition == nullptr || run_module != nullptr) return definition;
  auto* slot = reinterpret_cast<PyModuleDef*>(definition)->m_slots;
  while (slot->slot != Py_mod_exec) ++slot;
  run_module = reinterpret_cast<Run>(slot->value);
  slot->value = reinterpret_cast<void*>(run_in_main_interpreter);
  return definition;
}
