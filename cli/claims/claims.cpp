// SPDX-License-Identifier: Apache-2.0
#include "cli/claims/claims.hpp"

#include <algorithm>

namespace rotary::cli::claims {

std::span<const Claim> all_claims() {
  static const std::vector<Claim> all = [] {
    std::vector<Claim> claims;
    for (const auto of_topic :
         {absolute_claims, relative_claims, rotary_claims, frequency_claims, similarity_claims,
          curve_claims, length_claims, attention_claims, model_claims}) {
      for (const Claim& claim : of_topic()) claims.push_back(claim);
    }
    std::ranges::sort(claims, {}, &Claim::number);
    return claims;
  }();
  return all;
}

}  // namespace rotary::cli::claims
