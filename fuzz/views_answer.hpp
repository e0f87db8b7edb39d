// SPDX-License-Identifier: Apache-2.0
// What rotate and rotate_qk must say to a case: from the comments of the public headers, by looking
// at every element.
#pragma once

#include <cstddef>

#include "fuzz/strided.hpp"
#include "fuzz/views_case.hpp"

namespace rotary::fuzz {

[[nodiscard]] Answer expected_answer(const ViewsCase& views, const Rotations& rotations,
                                     const std::byte* buffer);

}  // namespace rotary::fuzz
