// SPDX-License-Identifier: Apache-2.0
// What rotate and rotate_qk must have written once they accepted a case.
#pragma once

#include <cstddef>
#include <span>

#include "fuzz/views_case.hpp"

namespace rotary::fuzz {

// Every element of the destinations is what the contract says of the sources as they were, and
// every other byte is as it was. before: a copy of the buffer; after: the buffer that the views lie
// in, which is put back as it was.
void check_written(const ViewsCase& views, const Rotations& rotations,
                   std::span<const std::byte> before, std::span<std::byte> after);

}  // namespace rotary::fuzz
