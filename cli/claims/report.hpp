// SPDX-License-Identifier: Apache-2.0
// Findings for a person or as JSON.
#pragma once

#include <span>
#include <string>

#include "cli/claims/claims.hpp"

namespace rotary::cli::claims {

// All findings: verdicts and conditions.
[[nodiscard]] std::string overview_text(std::span<const Finding> findings);

// Each with its evidence.
[[nodiscard]] std::string evidence_text(std::span<const Finding> findings);

// docs/schema/claims.schema.json.
[[nodiscard]] std::string findings_json(std::span<const Finding> findings);

// Fails, with everything that was contradicted, unless nothing was.
void check(std::span<const Finding> findings);

}  // namespace rotary::cli::claims
