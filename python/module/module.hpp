// SPDX-License-Identifier: Apache-2.0
// Every source of the module includes this header, so that all see the same nanobind casters. A
// source without one of the casters would instantiate another cast of the same name, and the linker
// would keep only one of the two.
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

void bind_attention(nb::module_& module);
void bind_axis_positions(nb::module_& module);
void bind_bias(nb::module_& module);
void bind_caches(nb::module_& module);
void bind_frequencies(nb::module_& module);
void bind_identify(nb::module_& module);
void bind_models(nb::module_& module);
void bind_rotations(nb::module_& module);

// Runs work() without the interpreter's lock, so that other Python threads run beside it. work()
// must not touch Python objects.
template <class Work>
[[nodiscard]] auto unlocked(Work work) {
  const nb::gil_scoped_release released;
  return work();
}

}  // namespace rotary::python
