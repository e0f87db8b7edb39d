// SPDX-License-Identifier: Apache-2.0
#include "relative/pair_positions.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

#include "base/message.hpp"

namespace rotary::relative {
namespace {

// Positions from first to last. span_of() fails if the range does not fit int64.
struct Span {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

Result<Span> span_of(std::string_view name, std::int64_t first, std::int64_t count) {
  Span span{.first = first, .last = first};
  if (count > 0 && __builtin_add_overflow(first, count - 1, &span.last)) {
    return invalid_argument(name, ": positions must stay within int64, got ", count, " from ",
                            first, " on");
  }
  return span;
}

Span span_of(std::span<const std::int64_t> positions) {
  if (positions.empty()) return {};
  const auto [low, high] = std::minmax_element(positions.begin(), positions.end());
  return {.first = *low, .last = *high};
}

// Checks that all distances fit int64. The largest are between the ends of the ranges.
Status check_distances(const Span& queries, const Span& keys) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  for (const auto& [a, b] : {Span{keys.last, queries.first}, Span{keys.first, queries.last}}) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a, b, &difference) || difference == lowest) {
      return invalid_argument("a query and a key must be less than 2^63 apart, got positions ", b,
                              " and ", a);
    }
  }
  return {};
}

}  // namespace

Result<PairPositions> PairPositions::of(const ScoresExtents& extents, const BiasRange& range) {
  PairPositions made;
  made.range_ = range;
  if (extents.queries == 0 || extents.keys == 0) return made;
  const auto queries = span_of("queries", range.first_query, extents.queries);
  if (!queries) return queries.error();
  const auto keys = span_of("keys", range.first_key, extents.keys);
  if (!keys) return keys.error();
  if (auto status = check_distances(*queries, *keys); !status) return status.error();
  made.lowest_ = keys->first - queries->last;
  made.highest_ = keys->last - queries->first;
  return made;
}

Result<PairPositions> PairPositions::of(const ScoresExtents& extents,
                                        const BiasPositions& positions) {
  const auto queries = static_cast<std::int64_t>(positions.queries.size());
  const auto keys = static_cast<std::int64_t>(positions.keys.size());
  if (queries != extents.queries || keys != extents.keys) {
    return invalid_argument("positions must be one for each of ", extents.queries,
                            " queries and of ", extents.keys, " keys, got ", queries, " and ",
                            keys);
  }
  PairPositions made;
  if (queries == 0 || keys == 0 || extents.batch == 0 || extents.heads == 0) return made;
  made.queries_ = positions.queries.data();
  made.keys_ = positions.keys.data();
  const Span of_queries = span_of(positions.queries);
  const Span of_keys = span_of(positions.keys);
  if (auto status = check_distances(of_queries, of_keys); !status) return status.error();
  made.lowest_ = of_keys.first - of_queries.last;
  made.highest_ = of_keys.last - of_queries.first;
  return made;
}

std::optional<Distances> PairPositions::distances(const ScoresExtents& extents) const noexcept {
  const auto queries = static_cast<std::uint64_t>(extents.queries);
  const auto keys = static_cast<std::uint64_t>(extents.keys);
  // Unsigned, because highest - lowest may be 2^64 - 2. The block has fewer than 2^60 elements.
  const std::uint64_t steps =
      static_cast<std::uint64_t>(highest_) - static_cast<std::uint64_t>(lowest_);
  if (steps >= queries * keys || steps >= 8 * (queries + keys)) return std::nullopt;
  return Distances{.lowest = lowest_, .count = static_cast<std::int64_t>(steps) + 1};
}

}  // namespace rotary::relative
