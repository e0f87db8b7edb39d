// SPDX-License-Identifier: Apache-2.0
// A figure as a JSON object: docs/schema/plot.schema.json.
#pragma once

#include "cli/json_writer.hpp"
#include "cli/plot/figure.hpp"

namespace rotary::cli::plot {

// As a value: after a key, in an array, or as the document.
void write_figure(JsonWriter& json, const Figure& figure);

}  // namespace rotary::cli::plot
