// SPDX-License-Identifier: Apache-2.0
// A stable sort that needs its memory: std::stable_sort goes on without, and more slowly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace rotary::identification {

// By key(item), which is computed once for each; equal ones stay in order.
template <class Item, class Key>
void sort_by(std::vector<Item>& items, const Key& key) {
  std::vector<std::pair<decltype(key(items.front())), std::size_t>> order;
  order.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) order.emplace_back(key(items[i]), i);
  std::ranges::sort(order);
  std::vector<Item> sorted;
  sorted.reserve(items.size());
  for (const auto& each : order) sorted.push_back(std::move(items[each.second]));
  items = std::move(sorted);
}

}  // namespace rotary::identification
