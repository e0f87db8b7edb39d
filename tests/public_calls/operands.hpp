// SPDX-License-Identifier: Apache-2.0
// The operands of a call of any size. A view without elements, and an array that claims more
// elements than exist, are in memory where any access ends the process. All other operands hold the
// same numbers in every call. Along an extent too large for memory, a stride of 0 repeats the
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rotary/positions.hpp"
#include "rotary/rotations.hpp"
#include "rotary/tensor_view.hpp"

namespace rotary::test {

// Ends the use of all operands so far. Operands of the next call take their places.
void begin_operands();

// The bytes of the operands since begin_operands(), and whether they still have their first values.
[[nodiscard]] std::vector<std::byte> operand_bytes();
[[nodiscard]] bool operands_are_untouched();

// A place: separate memory that holds these bytes, aligned for every type.
[[nodiscard]] void* place_of(std::span<const std::byte> bytes);

// Aligned memory that may be neither read nor written.
[[nodiscard]] void* untouchable();

template <class Value>
requires(std::is_trivially_copyable_v<Value>) [[nodiscard]] Value& operand(const Value& value) {
  return *static_cast<Value*>(place_of(std::as_bytes(std::span(&value, 1))));
}

// As many numbers as fit into one place. float: random ones from -1 to 1; double: 0.5, 1.5, 2.5, …;
// unsigned char: 1, 1, 0, 1, 1, 0, …; signed char: 0, 37, 74, … modulo 251; wider integers: 0, 1,
// 2, …
template <class Number>
[[nodiscard]] std::span<const Number> pattern();

// The first numbers of the pattern. Untouchable unless one place has room for them.
template <class Number>
[[nodiscard]] std::span<Number> numbers(std::int64_t count) {
  using Plain = std::remove_const_t<Number>;
  const std::span<const Plain> of = pattern<Plain>();
  if (count <= 0 || count > std::ssize(of)) {
    return {static_cast<Number*>(untouchable()), static_cast<std::size_t>(count < 0 ? 0 : count)};
  }
  const auto first = of.first(static_cast<std::size_t>(count));
  return {static_cast<Number*>(place_of(std::as_bytes(first))), first.size()};
}

[[nodiscard]] HeadsView heads(const Extents& extents);
[[nodiscard]] TokensView tokens(const TokenExtents& n);
[[nodiscard]] ScoresView scores(const ScoresExtents& n);
[[nodiscard]] TableView table(std::int64_t rows, std::int64_t features);
[[nodiscard]] QuantizedHeadsView quantized(const Extents& extents);

inline constexpr std::int64_t most_token_rows = 8;

// Numbers of the pattern, from `first` on. Untouchable for more batch rows than most_token_rows.
// With more than 512 tokens, a batch row repeats one number.
template <class Number>
[[nodiscard]] TokenArray<Number> positions(std::int64_t batch, std::int64_t count,
                                           std::int64_t first = 0) {
  const bool exists = batch >= 1 && batch <= most_token_rows && count > 0;
  const std::int64_t apart = count <= 512 ? 1 : 0;
  const std::int64_t each = apart == 1 ? count : 1;
  return {.data = exists ? numbers<const Number>(first + batch * each).data() + first
                         : static_cast<const Number*>(untouchable()),
          .batch = batch,
          .tokens = count,
          .batch_stride = each,
          .token_stride = apart};
}

// An eighth of a turn for each pair of window_of_16().
[[nodiscard]] CosSinView cos_sin(std::int64_t batch, std::int64_t count);

struct NamedPositions {
  std::string_view what;
  Positions (*of)(std::int64_t batch, std::int64_t tokens);
};

template <class Number>
[[nodiscard]] Positions listed(std::int64_t batch, std::int64_t tokens) {
  return positions<Number>(batch, tokens);
}

// Positions listed in an array, for each element type.
inline constexpr NamedPositions listed_positions[] = {
    {"int32", listed<std::int32_t>}, {"int64", listed<std::int64_t>}, {"double", listed<double>}};

// Heads of 16 features that all rotate.
[[nodiscard]] HeadWindow window_of_16();
[[nodiscard]] const Frequencies& frequencies_of_16();

// The rotations that move `count` tokens by two positions.
[[nodiscard]] Result<Rotations> rotations_for(std::int64_t count);

}  // namespace rotary::test
