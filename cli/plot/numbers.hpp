// SPDX-License-Identifier: Apache-2.0
// A figure's numbers: as JSON (docs/schema/plot.schema.json), and as CSV (RFC 4180, but for line
// ends of one byte) with a line for each point of each series and for each cell of each heat map.
#pragma once

#include <string>

#include "cli/json.hpp"
#include "cli/plot/figure.hpp"

namespace rotary::cli::plot {

void to_json(Json& json, const Figure& figure);

// panel,series,x,y,z,lower; of a heat map series is "cells", x the column, y the row, z the value.
// Numbers read back as the same double; what is not finite, or not there, is empty. A text that
// spreadsheets would take for a formula begins with an apostrophe.
[[nodiscard]] std::string csv_of(const Figure& figure);

}  // namespace rotary::cli::plot
