// SPDX-License-Identifier: Apache-2.0
// Reads numbers from an input. Past its end it reads 0, so every input is valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "fuzz/check.hpp"
#include "rotary/instruction_set.hpp"

namespace rotary::fuzz {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  [[nodiscard]] bool is_used_up() const { return left_.empty(); }

  [[nodiscard]] std::uint8_t byte() {
    if (left_.empty()) return 0;
    const std::uint8_t value = left_.front();
    left_ = left_.subspan(1);
    return value;
  }

  // A number in [first, last], from one byte: last - first < 256.
  [[nodiscard]] std::int64_t number(std::int64_t first, std::int64_t last) {
    return first + byte() % (last - first + 1);
  }

  [[nodiscard]] auto one_of(const auto& list) {
    return list[static_cast<std::size_t>(number(0, std::ssize(list) - 1))];
  }

  // True for one byte value in `count`.
  [[nodiscard]] bool once_in(int count) { return byte() % count == 1; }

  // A mask element: 0 or 1, or any byte one time in any_once_in.
  [[nodiscard]] std::uint8_t mask_element(int any_once_in) {
    const std::uint8_t most = once_in(any_once_in) ? 255 : 1;
    return byte() & most;
  }

  [[nodiscard]] std::uint64_t bits() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8U | byte();
    return value;
  }

  // Any integer, often small. The first byte decides how many bytes follow.
  [[nodiscard]] std::int64_t integer() {
    const int size = byte() % 9;
    std::uint64_t value = 0;
    for (int i = 0; i < size; ++i) value = value << 8U | byte();
    if (size == 0 || size == 8) return static_cast<std::int64_t>(value);
    const bool negative = (value >> (8 * size - 1)) != 0;
    const std::uint64_t sign = negative ? ~std::uint64_t{0} << (8 * size) : 0;
    return static_cast<std::int64_t>(value | sign);
  }

 private:
  std::span<const std::uint8_t> left_;
};

inline void use_instruction_set(std::string_view name) {
  if (const auto status = force_instruction_set(name); !status) {
    fail("a supported instruction set must be usable", status.error().message);
  }
}

inline void use_instruction_set(Bytes& input) {
  const auto sets = supported_instruction_sets();
  use_instruction_set(sets[input.byte() % sets.size()]);
}

}  // namespace rotary::fuzz
