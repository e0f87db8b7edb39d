// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/report/subjects.hpp"

namespace rotary::cli::page {

// What the script of the page reads. Figures as `rotary plot --json` writes them, with 7 digits:
// they are drawn.
[[nodiscard]] std::string json_of(const Contents& contents);

}  // namespace rotary::cli::page
