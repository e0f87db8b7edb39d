// SPDX-License-Identifier: Apache-2.0
// Limits of what explain takes: each key takes several resolutions.
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

// Usage failure beyond the limit. subject: "a config". or_more: " or more", if got is not all.
void check_limit(std::string_view subject, const Limit& limit, std::size_t got,
                 std::string_view or_more = {});

// Usage failure for more than 2048 pairs of features over all layer types.
void check_pairs(std::string_view subject, const ModelSpec& model);

}  // namespace rotary::cli::explain
