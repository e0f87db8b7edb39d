// SPDX-License-Identifier: Apache-2.0
// What was looked at: which engine, in which release, for which family and form of config. The rows
// are evidence.txt.
#pragma once

#include <string_view>

#include "model/json/json.hpp"
#include "rotary/dialect.hpp"

namespace rotary {

// How the reading of the config's object `part` as `model` is known.
[[nodiscard]] ReadingEvidence evidence_of(const Json& part, const ModelSpec& model,
                                          const Dialect& dialect);

}  // namespace rotary
