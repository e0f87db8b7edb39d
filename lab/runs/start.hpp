// SPDX-License-Identifier: Apache-2.0
// The finished cell that another starts from.
#pragma once

#include <string>

#include "lab/experiment/cell.hpp"

namespace rotary::lab {

// The cell with the SHA-256 of its start's configuration, which its identity includes; unchanged if
// it starts from none. Fails, naming the command to run, if that cell is not finished.
[[nodiscard]] Cell with_start(Cell cell, const std::string& runs);

// Its checkpoint.
[[nodiscard]] std::string start_checkpoint(const Cell& cell, const std::string& runs);

}  // namespace rotary::lab
