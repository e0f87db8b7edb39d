// SPDX-License-Identifier: Apache-2.0
// The parts of the module: each binds one noun of the library.
#pragma once

#include "module/casters.hpp"

namespace rotary::python {

void bind_attention(nanobind::module_& module);
void bind_axis_positions(nanobind::module_& module);
void bind_bias(nanobind::module_& module);
void bind_caches(nanobind::module_& module);
void bind_frequencies(nanobind::module_& module);
void bind_identify(nanobind::module_& module);
void bind_models(nanobind::module_& module);
void bind_rotations(nanobind::module_& module);

}  // namespace rotary::python
