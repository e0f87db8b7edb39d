// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/runs/run_directory.hpp"

namespace rotary::lab {

// The lines of a finished cell's log.csv. Fails on a line that RunDirectory::append does not write.
[[nodiscard]] std::vector<LogRow> read_log(const std::string& path);

}  // namespace rotary::lab
