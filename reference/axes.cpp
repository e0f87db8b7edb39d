// SPDX-License-Identifier: Apache-2.0
#include "reference/axes.hpp"

#include <numeric>

namespace rotary::reference {
namespace {

using Pairs = std::vector<PairSource>;

std::int64_t pairs_of(const Axes& axes, std::int64_t axis) {
  return axes.pairs.at(static_cast<std::size_t>(axis));
}

std::vector<std::int64_t> order_of(const Axes& axes) {
  if (!axes.order.empty()) return axes.order;
  std::vector<std::int64_t> order(axes.pairs.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// One axis's pairs and their entries in the table: inv_freq[0::2] and inv_freq[1::2] for in_turn
// (PixtralRotaryEmbedding), otherwise 0, 1, ….
Pairs columns(const Axes& axes, std::int64_t axis, std::int64_t turn) {
  Pairs freq;
  const auto count = static_cast<std::int64_t>(axes.pairs.size());
  const bool sliced = axes.exponents.get() == AxisExponents::in_turn;
  for (std::int64_t k = 0; k < pairs_of(axes, axis); ++k)
    freq.push_back({.axis = axis, .place = sliced ? turn + count * k : k});
  return freq;
}

// Qwen2-VL: torch.cat([m[i % 3] for i, m in enumerate(freq.split(mrope_section))]). The towers of
// Step3.7 and Inkling 2 order the axes differently.
Pairs concatenated(const Axes& axes) {
  Pairs all;
  std::int64_t turn = 0;
  for (const std::int64_t axis : order_of(axes)) {
    const Pairs freq = columns(axes, axis, turn++);
    all.insert(all.end(), freq.begin(), freq.end());
  }
  return all;
}

// torch.stack([…], dim=-1).flatten(-2) of the first `stacked` axes, followed by the other axes.
// Kimi-K2.5 and NeoMME stack all axes, Ernie 4.5 VL all but the last.
Pairs flattened(const Axes& axes, std::size_t stacked) {
  const auto order = order_of(axes);
  Pairs all;
  for (std::int64_t k = 0; k < pairs_of(axes, order.front()); ++k) {
    for (std::size_t turn = 0; turn < stacked; ++turn) {
      const Pairs freq = columns(axes, order[turn], static_cast<std::int64_t>(turn));
      if (k < static_cast<std::int64_t>(freq.size()))
        all.push_back(freq[static_cast<std::size_t>(k)]);
    }
  }
  for (std::size_t turn = stacked; turn < order.size(); ++turn) {
    const Pairs freq = columns(axes, order[turn], static_cast<std::int64_t>(turn));
    all.insert(all.end(), freq.begin(), freq.end());
  }
  return all;
}

// Qwen3-VL's apply_interleaved_mrope: freqs_t = freqs[0], then freqs_t[slice(offset, 3 * section,
// 3)] from the other axes.
Pairs sliced(const Axes& axes) {
  const auto order = order_of(axes);
  const auto step = static_cast<std::int64_t>(order.size());
  const auto pairs = std::accumulate(axes.pairs.begin(), axes.pairs.end(), std::int64_t{0});
  Pairs all(static_cast<std::size_t>(pairs), {.axis = order.front()});
  for (std::int64_t offset = 1; offset < step; ++offset) {
    const std::int64_t axis = order[static_cast<std::size_t>(offset)];
    for (std::int64_t i = offset; i < step * pairs_of(axes, axis) && i < pairs; i += step)
      all[static_cast<std::size_t>(i)].axis = axis;
  }
  for (std::int64_t axis = 0; axis < step; ++axis) {
    std::int64_t rank = 0;
    for (PairSource& pair : all)
      if (pair.axis == axis) pair.place = rank++;
  }
  return all;
}

}  // namespace

std::vector<PairSource> pair_sources(const Axes& axes) {
  Pairs all;
  switch (axes.arrangement) {
    case AxisArrangement::blocks:
      all = concatenated(axes);
      break;
    case AxisArrangement::interleaved: {
      bool equal = true;
      for (const std::int64_t each : axes.pairs) equal = equal && each == axes.pairs.front();
      all = equal ? flattened(axes, axes.pairs.size()) : sliced(axes);
      break;
    }
    case AxisArrangement::interleaved_then_last:
      all = flattened(axes, axes.pairs.size() - 1);
      break;
  }
  if (axes.exponents.get() == AxisExponents::shared) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].place = static_cast<std::int64_t>(i);
  }
  return all;
}

}  // namespace rotary::reference
