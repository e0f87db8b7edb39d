// SPDX-License-Identifier: Apache-2.0
#include "bench/lines.hpp"

#include <algorithm>
#include <array>

#include "bench/operations/operations.hpp"

namespace rotary::bench {
namespace {

constexpr std::array<std::int64_t, 6> all_tokens = {1, 16, 64, 512, 4096, 32'768};
constexpr std::array<DType, 3> all_dtypes = {DType::f32, DType::bf16, DType::f16};
constexpr std::array<Pairing, 2> both_pairings = {Pairing::half, Pairing::interleaved};
constexpr std::array<std::int64_t, 2> one_and_two_threads = {1, 2};
constexpr std::array<Axes, 1> everything = {
    Axes{all_tokens, all_dtypes, both_pairings, one_and_two_threads}};

template <class Value>
std::span<const Value> or_else(const std::optional<std::vector<Value>>& wished,
                               std::span<const Value> otherwise) {
  return wished ? std::span<const Value>(*wished) : otherwise;
}

// Takes each axis from the options, or else from the set.
Axes wished_axes(const Operation& operation, const Axes& axes, const Wish& wish) {
  const auto tokens = or_else(wish.tokens, axes.tokens);
  const bool no_tensor = operation.shape.query_heads + operation.shape.key_heads == 0;
  if (no_tensor) {
    return {.tokens = tokens,
            .dtypes = axes.dtypes.first(1),
            .pairings = axes.pairings.first(1),
            .threads = axes.threads.first(1)};
  }
  return {.tokens = tokens,
          .dtypes = or_else(wish.dtypes, axes.dtypes),
          .pairings = or_else(wish.pairings, axes.pairings),
          .threads = or_else(wish.threads, axes.threads)};
}

void add_once(std::vector<Line>& lines, const Line& line) {
  const auto same = [&line](const Line& other) {
    return other.operation == line.operation && other.tokens == line.tokens &&
           other.dtype == line.dtype && other.pairing == line.pairing &&
           other.threads == line.threads;
  };
  if (std::ranges::none_of(lines, same)) lines.push_back(line);
}

void add_lines(std::vector<Line>& lines, const Operation& operation, const Axes& axes) {
  for (const std::int64_t threads : axes.threads) {
    for (const Pairing pairing : axes.pairings) {
      for (const DType dtype : axes.dtypes) {
        for (const std::int64_t tokens : axes.tokens) {
          add_once(lines, {.operation = &operation,
                           .tokens = tokens,
                           .dtype = dtype,
                           .pairing = pairing,
                           .threads = threads});
        }
      }
    }
  }
}

bool is_wished(const Operation& operation, const Wish& wish) {
  return wish.operations.empty() ||
         std::ranges::find(wish.operations, &operation) != wish.operations.end();
}

}  // namespace

std::vector<Line> lines_of(const Wish& wish) {
  std::vector<Line> lines;
  for (const Operation& operation : operations()) {
    if (!is_wished(operation, wish)) continue;
    const std::span<const Axes> set =
        wish.set == LineSet::full ? std::span<const Axes>(everything) : operation.usual;
    for (const Axes& axes : set) add_lines(lines, operation, wished_axes(operation, axes, wish));
  }
  return lines;
}

}  // namespace rotary::bench
