// SPDX-License-Identifier: Apache-2.0
// Work of the library beside which other threads of Python run.
#pragma once

#include "module/casters.hpp"

namespace rotary::python {

// Returns what work() does, which runs without the interpreter's lock and so must not touch
// Python's objects.
template <class Work>
[[nodiscard]] auto unlocked(Work work) {
  const nanobind::gil_scoped_release released;
  return work();
}

}  // namespace rotary::python
