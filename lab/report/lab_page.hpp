// SPDX-License-Identifier: Apache-2.0
// The page of rotary-lab report: its pieces are files in page/ and those of cli/page/.
#pragma once

#include "cli/page/page.hpp"

namespace rotary::lab {

// Written by cli/page/embed.cmake.
[[nodiscard]] cli::page::PagePieces lab_page() noexcept;

}  // namespace rotary::lab
