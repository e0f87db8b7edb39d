// SPDX-License-Identifier: Apache-2.0
// A table of what was looked at: engine, releases, family, forms of configs. Its rows are
// evidence.txt.
#pragma once

#include <string_view>

#include "model/json/json.hpp"
#include "rotary/dialect.hpp"

namespace rotary {

// How the reading of the config's object `part` as `model` is known.
[[nodiscard]] ReadingEvidence evidence_of(const Json& part, const ModelSpec& model,
                                          const Dialect& dialect);

}  // namespace rotary
