// SPDX-License-Identifier: Apache-2.0
// What rotate and rotate_qk must say to a case: from the comments of the public headers, by looking
// at every element.
#pragma once

#include <cstddef>

#include "fuzz/views_case.hpp"

namespace rotary::fuzz {

// either: strides that do not nest may be refused, because sharing may not be decidable in time.
enum class Answer { accept, refuse, either };

[[nodiscard]] Answer expected_answer(const ViewsCase& views, const std::byte* buffer);

}  // namespace rotary::fuzz
