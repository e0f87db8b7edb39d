// SPDX-License-Identifier: Apache-2.0
// The header of every source of the module. nanobind's casters of the standard library's types are
// the same for all: a source without one instantiates another cast of the same name, and the linker
// keeps either.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

namespace rotary::python {

namespace nb = nanobind;

// The parts of the module: each binds one noun of the library.
void bind_attention(nb::module_& module);
void bind_axis_positions(nb::module_& module);
void bind_bias(nb::module_& module);
void bind_caches(nb::module_& module);
void bind_frequencies(nb::module_& module);
void bind_identify(nb::module_& module);
void bind_models(nb::module_& module);
void bind_rotations(nb::module_& module);

// Returns what work() does, beside which other threads of Python run. It has not the interpreter's
// lock and so must not touch Python's objects.
template <class Work>
[[nodiscard]] auto unlocked(Work work) {
  const nb::gil_scoped_release released;
  return work();
}

}  // namespace rotary::python
