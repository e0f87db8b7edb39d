// SPDX-License-Identifier: Apache-2.0
// The hardware and software of a run. They are recorded with a result, but are not part of a cell's
// identity.
#pragma once

#include <nlohmann/json.hpp>

namespace rotary::lab {

// The processor's name, or the architecture if Linux has none; blas_in_use(); versions; the commit
// that was checked out when the build was configured, "" if unknown. The caller adds torch's
// version, the threads of each process, and "ranks", the processes that share a step.
[[nodiscard]] nlohmann::json this_machine();

}  // namespace rotary::lab
