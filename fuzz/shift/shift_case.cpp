// SPDX-License-Identifier: Apache-2.0
#include "fuzz/shift/shift_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/check.hpp"
#include "fuzz/frequencies_cache.hpp"
#include "fuzz/shapes.hpp"

namespace rotary::fuzz {
namespace {

// Frequencies of any size and sign, with any attention factor.
Frequencies decode_list(Bytes& input, const HeadWindow& window) {
  std::vector<double> inv_freq;
  for (std::int64_t pair = 0; pair < window.pairs(); ++pair) {
    const double digits = 1 + static_cast<double>(input.byte()) * 0x1.0001p-8;
    const auto exponent = static_cast<int>(input.number(-66, 38));
    inv_freq.push_back(std::ldexp(input.once_in(2) ? -digits : digits, exponent));
  }
  const double factor = std::ldexp(1 + 0x1p-3 * static_cast<double>(input.number(0, 7)),
                                   static_cast<int>(input.number(-20, 19)));
  auto frequencies = make_frequencies(window, std::move(inv_freq), factor);
  if (!frequencies) fail("the frequencies must be valid", frequencies.error().message);
  return *std::move(frequencies);
}

Frequencies decode_frequencies(Bytes& input, const HeadWindow& window) {
  const std::int64_t kind = input.number(0, 15);
  Frequencies frequencies =
      kind == 15 ? decode_list(input, window) : frequencies_of(window, kind % spec_kinds);
  if (input.once_in(32)) {
    frequencies = frequencies_of(window, input.number(first_recipe, all_spec_kinds - 1));
  }
  if (input.once_in(16)) frequencies.contexts.last = input.number(0, 127);
  return frequencies;
}

// Token i of batch row b is at first + i * step + 1000 b. Doubles may add a fraction. Sometimes
// one number is extreme.
std::vector<long double> decode_values(Bytes& input, const NumbersCase& numbers) {
  const long double step = input.once_in(4) ? input.number(-3, 3) : 1;
  const long double part = numbers.kind == NumberKind::f64
                               ? std::ldexp(input.byte(), -static_cast<int>(input.number(0, 8)))
                               : 0;
  std::vector<long double> values;
  for (std::int64_t b = 0; b < clamped(numbers.counts.batch, 128); ++b) {
    for (std::int64_t t = 0; t < clamped(numbers.counts.tokens, 128); ++t) {
      values.push_back(static_cast<long double>(numbers.first) +
                       static_cast<long double>(b) * 1000 + static_cast<long double>(t) * step +
                       part);
    }
  }
  if (!values.empty() && input.once_in(4)) {
    const auto at = input.byte() % values.size();
    constexpr std::array wild = {0x1p63L,
                                 -0x1p63L,
                                 -0x1p64L,
                                 0x1p200L,
                                 -0.5L,
                                 0x1p-1074L,
                                 static_cast<long double>(NAN),
                                 static_cast<long double>(INFINITY)};
    const std::int64_t kind = input.number(0, 15);
    values[at] =
        kind < 8 ? wild[static_cast<std::size_t>(kind)] : static_cast<long double>(input.integer());
  }
  return values;
}

bool decode_side(Bytes& input, Places& places, const NumberCounts& counts, ShiftSide& side) {
  const auto kind = static_cast<NumberKind>(input.number(0, 3));
  const auto positions = decode_numbers(input, places, kind, counts);
  if (!positions) return false;
  side.positions = *positions;
  side.positions.first = input.integer();
  side.numbers = decode_values(input, side.positions);
  return true;
}

// Memory for the rows, usually enough.
void decode_memory(Bytes& input, std::span<std::byte> memory, ShiftCase& shift) {
  if (!input.once_in(2)) return;
  shift.options.memory = memory;
  if (input.once_in(4)) shift.options.memory = memory.first(input.byte() * std::size_t{64});
  if (input.once_in(32) && !shift.options.memory.empty()) {
    shift.options.memory =
        shift.options.memory.subspan(static_cast<std::size_t>(input.number(1, 7)));
  }
}

void decode_options(Bytes& input, std::span<std::byte> memory, ShiftCase& shift) {
  const bool is_wide = !shift.quantized && shift.keys.dtype == DType::f64;
  shift.options.rows = is_wide != input.once_in(64) ? RowDType::f64 : RowDType::f32;
  if (input.once_in(64)) shift.options.rows = static_cast<RowDType>(input.number(0, 7));
  if (input.once_in(8)) shift.options.tensors = shift.keys.dtype;
  if (input.once_in(64)) shift.options.role = static_cast<Role>(input.number(0, 3));
  decode_memory(input, memory, shift);
}

}  // namespace

std::optional<ShiftCase> decode_shift(Bytes& input, std::span<std::byte> buffer,
                                      std::span<std::byte> memory) {
  Places places(buffer);
  const HeadWindow window = decode_window(input, input.number(2, input.once_in(4) ? 40 : 9));
  const Frequencies frequencies = decode_frequencies(input, window);
  ShiftCase shift{.from = {.frequencies = frequencies}, .to = {.frequencies = frequencies}};
  if (input.once_in(2)) shift.to.frequencies = decode_frequencies(input, window);
  if (input.once_in(32)) {
    shift.to.frequencies = decode_frequencies(input, decode_window(input, window.head_dim));
  }
  shift.seed = input.bits();
  shift.noise = decode_noise(input);
  shift.has_executor = input.once_in(2);
  shift.has_zeros = input.once_in(8);
  shift.rows = static_cast<ShiftRows>(input.number(0, 3));
  shift.keys.dtype = decode_dtype(input);
  Extents& n = shift.keys.extents;
  n = {.batch = input.number(1, 2),
       .tokens = input.number(1, 4),
       .heads = input.number(1, 3),
       .features = window.head_dim};
  if (input.once_in(8)) n.tokens = input.number(30, 70);
  const NumberCounts counts{.batch = input.once_in(2) ? n.batch : 1, .tokens = n.tokens};
  disturb(input, n);
  if (!decode_side(input, places, counts, shift.from)) return {};
  const NumberCounts other{.batch = input.once_in(3) ? 1 : counts.batch, .tokens = counts.tokens};
  if (!decode_side(input, places, other, shift.to)) return {};
  if (input.once_in(2)) {
    shift.quantized = decode_quantized(input, places, n);
    if (!shift.quantized) return {};
  } else if (!decode_view(input, places, shift.keys)) {
    return {};
  }
  decode_options(input, memory, shift);
  return shift;
}

}  // namespace rotary::fuzz
