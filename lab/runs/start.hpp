// SPDX-License-Identifier: Apache-2.0
// The finished cell that another starts from.
#pragma once

#include <string>

#include "lab/experiment/cell.hpp"

namespace rotary::lab {

// The cell with the SHA-256 of that cell's configuration, which its identity includes; as it is,
// where it starts from nothing. Fails, naming the command to run, where that cell is not finished.
[[nodiscard]] Cell with_start(Cell cell, const std::string& runs);

// Its checkpoint.
[[nodiscard]] std::string start_checkpoint(const Cell& cell, const std::string& runs);

}  // namespace rotary::lab
