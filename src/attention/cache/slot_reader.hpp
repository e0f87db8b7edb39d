// SPDX-License-Identifier: Apache-2.0
// Reads the slots of a call's tokens from any form of Slots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "rotary/kv_cache.hpp"

namespace rotary {

class SlotReader {
 public:
  // Requires slots that check_slots() accepts for these extents. A map must outlive the reader.
  SlotReader(const Slots& slots, const Extents& cache, const Extents& k) noexcept
      : batch_(k.batch), tokens_(k.tokens), slots_per_block_(cache.tokens) {
    std::visit([this](const auto& each) { read(each); }, slots);
  }

  // Negative if the token is not stored.
  [[nodiscard]] std::int64_t at(std::int64_t batch, std::int64_t token) const noexcept {
    const std::int64_t index = batch * batch_stride_ + token * token_stride_;
    if (map32_ != nullptr) return map32_[index];
    return map64_ != nullptr ? map64_[index] : first_ + index;
  }

  [[nodiscard]] std::int64_t slots_per_block() const noexcept { return slots_per_block_; }
  [[nodiscard]] bool is_map() const noexcept { return map32_ != nullptr || map64_ != nullptr; }

  // Counts to read. Along a stride of 0, a count is at most 2: enough to find a repeated slot.
  [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }
  [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_; }

 private:
  void read(const ConsecutiveSlots& slots) noexcept {
    first_ = slots.first;
    batch_stride_ = slots_per_block_;
    token_stride_ = 1;
  }
  template <class Number>
  void read(const TokenArray<Number>& map) noexcept {
    if constexpr (sizeof(Number) == 4)
      map32_ = map.data;
    else
      map64_ = map.data;
    batch_stride_ = map.batch_stride;
    token_stride_ = map.token_stride;
    if (batch_stride_ == 0) batch_ = std::min<std::int64_t>(batch_, 2);
    if (token_stride_ == 0) tokens_ = std::min<std::int64_t>(tokens_, 2);
  }

  const std::int32_t* map32_ = nullptr;
  const std::int64_t* map64_ = nullptr;
  std::int64_t first_ = 0;
  std::int64_t batch_stride_ = 0;
  std::int64_t token_stride_ = 0;
  std::int64_t batch_;
  std::int64_t tokens_;
  std::int64_t slots_per_block_;
};

}  // namespace rotary
