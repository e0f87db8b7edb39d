// SPDX-License-Identifier: Apache-2.0
// Limits on the input of explain, because each key takes several resolutions.
#pragma once

#include <cstddef>
#include <string_view>

#include "rotary/model_spec.hpp"

namespace rotary::cli::explain {

struct Limit {
  std::size_t most = 0;
  std::string_view what;
};
inline constexpr Limit most_keys{.most = 500, .what = "keys"};
inline constexpr Limit most_bytes{.most = std::size_t{1} << 18, .what = "bytes"};

// Fails as wrong usage above the limit. subject: "a config". or_more: " or more" if `got` is only a
// lower bound.
void check_limit(std::string_view subject, const Limit& limit, std::size_t got,
                 std::string_view or_more = {});

// Fails as wrong usage above 2048 pairs of features over all layer types.
void check_pairs(std::string_view subject, const ModelSpec& model);

}  // namespace rotary::cli::explain
