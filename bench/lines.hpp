// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/line.hpp"

namespace rotary::bench {

enum class LineSet {
  usual,  // each operation's own choice; takes about half a minute
  full,   // every combination of the values in lines.cpp
};

// Options that select lines. They replace the values of the set.
struct Wish {
  LineSet set = LineSet::usual;
  std::vector<const Operation*> operations = {};  // empty: all
  std::optional<std::vector<std::int64_t>> tokens = {};
  std::optional<std::vector<DType>> dtypes = {};
  std::optional<std::vector<Pairing>> pairings = {};
  std::optional<std::vector<std::int64_t>> threads = {};
};

// Each line once, in the order of operations(). An operation without tensors has one dtype, one
// pairing and one thread, whatever the options say.
[[nodiscard]] std::vector<Line> lines_of(const Wish& wish);

}  // namespace rotary::bench
