// SPDX-License-Identifier: Apache-2.0
// Checks the results of rotate and rotate_qk after they accepted a case.
#pragma once

#include "fuzz/strided.hpp"
#include "fuzz/views_case.hpp"

namespace rotary::fuzz {

// Every element of the destinations has the value that the contract requires for the original
// sources, and every other byte is unchanged. Restores the destinations.
void check_written(const ViewsCase& views, const Rotations& rotations, const Memory& memory);

}  // namespace rotary::fuzz
