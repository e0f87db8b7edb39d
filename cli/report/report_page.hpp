// SPDX-License-Identifier: Apache-2.0
// The page of rotary report. Its pieces are files in page/ and those that all pages share.
#pragma once

#include "cli/page/page.hpp"

namespace rotary::cli::page {

// Written by cli/page/embed.cmake.
[[nodiscard]] PagePieces report_page() noexcept;

}  // namespace rotary::cli::page
