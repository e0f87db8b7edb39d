// SPDX-License-Identifier: Apache-2.0
// The required answers of rotate and rotate_qk to a case, from the comments of the public headers.
// Checks every element.
#pragma once

#include <cstddef>

#include "fuzz/strided.hpp"
#include "fuzz/views_case.hpp"

namespace rotary::fuzz {

[[nodiscard]] Answer expected_answer(const ViewsCase& views, const Rotations& rotations,
                                     const std::byte* buffer);

}  // namespace rotary::fuzz
