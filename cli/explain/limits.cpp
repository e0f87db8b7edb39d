// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/limits.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "apps/failure.hpp"

namespace rotary::cli::explain {
namespace {

constexpr Limit most_pairs{.most = 2048,
                           .what = "pairs of features that turn, over its layer types"};

}  // namespace

void check_limit(std::string_view subject, const Limit& limit, std::size_t got,
                 std::string_view or_more) {
  if (got <= limit.most) return;
  fail_usage("{} to explain must have at most {} {}, got {}{}", subject, limit.most, limit.what,
             got, or_more);
}

void check_pairs(std::string_view subject, const ModelSpec& model) {
  std::size_t pairs = 0;
  for (const ModelRotary& rotary : model.rotary) {
    const RotarySpec& spec = rotary.spec;
    const std::int64_t turning = spec.rotary_dim.value_or(spec.head_dim - spec.first_feature);
    pairs += static_cast<std::size_t>(turning / 2);
  }
  check_limit(subject, most_pairs, pairs);
}

}  // namespace rotary::cli::explain
