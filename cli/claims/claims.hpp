// SPDX-License-Identifier: Apache-2.0
// The claims, by topic and all together.
#pragma once

#include <span>
#include <vector>

#include "cli/claims/claim.hpp"

namespace rotary::cli::claims {

[[nodiscard]] std::vector<Claim> absolute_claims();
[[nodiscard]] std::vector<Claim> relative_claims();
[[nodiscard]] std::vector<Claim> rotary_claims();
[[nodiscard]] std::vector<Claim> frequency_claims();
[[nodiscard]] std::vector<Claim> similarity_claims();
[[nodiscard]] std::vector<Claim> curve_claims();
[[nodiscard]] std::vector<Claim> length_claims();
[[nodiscard]] std::vector<Claim> attention_claims();
[[nodiscard]] std::vector<Claim> model_claims();

// By number, which is 1 more than the index.
[[nodiscard]] std::span<const Claim> all_claims();

}  // namespace rotary::cli::claims
