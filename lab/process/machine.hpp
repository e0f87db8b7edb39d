// SPDX-License-Identifier: Apache-2.0
// A run's hardware and software, recorded with results but not part of a cell's identity.
#pragma once

#include <nlohmann/json.hpp>

namespace rotary::lab {

// Processor name (or architecture), blas_in_use(), rotary's version, and the source's commit at
// configure time, or "". The caller adds torch's version, threads per process, and "ranks", the
// number of processes that share a step.
[[nodiscard]] nlohmann::json this_machine();

}  // namespace rotary::lab
