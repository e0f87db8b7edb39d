// SPDX-License-Identifier: Apache-2.0
// Reads the slots of a call's tokens in any of the forms they are given in.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "rotary/kv_cache.hpp"

namespace rotary {

// Whether a stride of 0 gives several tokens the same slot. append() then accepts the map only if
// all of its tokens are padding.
[[nodiscard]] inline bool repeats_a_slot(const ConsecutiveSlots& /*slots*/) noexcept {
  return false;
}
template <class Number>
[[nodiscard]] bool repeats_a_slot(const TokenArray<Number>& map) noexcept {
  return (map.batch > 1 && map.batch_stride == 0) || (map.tokens > 1 && map.token_stride == 0);
}

class SlotReader {
 public:
  // Requires slots that append() has checked; a map must outlive this.
  SlotReader(const Slots& slots, std::int64_t slots_per_block) noexcept
      : slots_per_block_(slots_per_block) {
    std::visit([this](const auto& each) { read(each); }, slots);
  }

  // Negative if the token is not stored.
  [[nodiscard]] std::int64_t at(std::int64_t batch, std::int64_t token) const noexcept {
    const std::int64_t index = batch * batch_stride_ + token * token_stride_;
    if (map32_ != nullptr) return map32_[index];
    return map64_ != nullptr ? map64_[index] : first_ + index;
  }

  [[nodiscard]] std::int64_t slots_per_block() const noexcept { return slots_per_block_; }

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
  }

  const std::int32_t* map32_ = nullptr;
  const std::int64_t* map64_ = nullptr;
  std::int64_t first_ = 0;
  std::int64_t batch_stride_ = 0;
  std::int64_t token_stride_ = 0;
  std::int64_t slots_per_block_;
};

struct SlotRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The tokens of all batch rows of a call.
struct SlotTokens {
  const SlotReader& slots;
  std::int64_t batch;
  std::int64_t tokens;
};

// A slot that two tokens share: exact, in memory of a fixed size (distinct_slots.cpp). Requires
// slots that are within range, or negative, which never count as the same.
[[nodiscard]] std::optional<std::int64_t> find_repeated_slot(const SlotTokens& of,
                                                             const SlotRange& range) noexcept;

}  // namespace rotary
