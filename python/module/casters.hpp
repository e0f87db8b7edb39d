// SPDX-License-Identifier: Apache-2.0
// nanobind's casters of the standard library's types, the same for every source of the module: a
// source without one instantiates another cast of the same name, and the linker keeps either.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
