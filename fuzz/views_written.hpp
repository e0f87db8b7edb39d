// SPDX-License-Identifier: Apache-2.0
// Checks the results of rotate and rotate_qk after they accepted a case.
#pragma once

#include "fuzz/strided.hpp"
#include "fuzz/views_case.hpp"

namespace rotary::fuzz {

// Every element of the destinations is what the contract says of the sources as they were, and
// every other byte is as it was. The destinations are put back as they were.
void check_written(const ViewsCase& views, const Rotations& rotations, const Memory& memory);

}  // namespace rotary::fuzz
