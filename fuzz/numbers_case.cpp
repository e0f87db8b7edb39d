// SPDX-License-Identifier: Apache-2.0
#include "fuzz/numbers_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "fuzz/check.hpp"
#include "fuzz/strided.hpp"

namespace rotary::fuzz {
namespace {

template <class Number>
void put(std::byte* to, long double value) {
  using Limits = std::numeric_limits<Number>;
  Number number{};
  if constexpr (std::is_floating_point_v<Number>) {
    number = static_cast<Number>(value);
  } else {
    const auto least = static_cast<long double>(Limits::min());
    const auto most = static_cast<long double>(Limits::max());
    number = std::isnan(value) ? 0 : static_cast<Number>(std::clamp(value, least, most));
  }
  std::memcpy(to, &number, sizeof number);
}

template <class Number>
long double get(const std::byte* from) {
  Number number;
  std::memcpy(&number, from, sizeof number);
  return number;
}

template <class Number>
TokenArray<Number> array_of(const NumbersCase& numbers) {
  return {.data = reinterpret_cast<const Number*>(numbers.data),
          .batch = numbers.counts.batch,
          .tokens = numbers.counts.tokens,
          .batch_stride = numbers.batch_stride,
          .token_stride = numbers.token_stride};
}

std::int64_t offset_of(const Strided& array, const Axes& index) {
  return (index[0] * array.strides[0] + index[1] * array.strides[1]) * array.element_bytes;
}

// Requires well-formed positions. A stride of 0 repeats one number.
bool are_finite(const NumbersCase& numbers) {
  const Axes counts = without_repeats(strided(numbers)).counts;
  for (std::int64_t b = 0; b < counts[0]; ++b) {
    for (std::int64_t t = 0; t < counts[1]; ++t) {
      const long double position = number_at(numbers, b, t);
      if (!(position >= -0x1p63L && position < 0x1p63L)) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<NumbersCase> decode_numbers(Bytes& input, Places& places, NumberKind kind,
                                          const NumberCounts& counts) {
  NumbersCase numbers{.kind = kind, .counts = counts};
  if (kind == NumberKind::consecutive) numbers.counts.batch = 1;
  if (input.once_in(32))
    numbers.counts.tokens = std::clamp<std::int64_t>(counts.tokens, 1, 80) + input.number(-1, 1);
  if (kind == NumberKind::consecutive) return numbers;
  if (input.once_in(32)) numbers.counts.batch = input.number(-1, 3);
  const Strided dense = strided(numbers);
  const Axes strides = decode_strides(input, dense.counts, Features::anywhere);
  numbers.batch_stride = strides[0];
  numbers.token_stride = input.once_in(16) ? 0 : strides[1];
  const auto data = places.place(input, strided(numbers));
  if (!data) return {};
  numbers.data = *data;
  return numbers;
}

Strided strided(const NumbersCase& numbers) {
  const bool is_array = numbers.kind != NumberKind::consecutive;
  return {.data = numbers.data,
          .element_bytes = numbers.kind == NumberKind::int32 ? 4 : 8,
          .counts = {is_array ? numbers.counts.batch : 0, numbers.counts.tokens, 1, 1},
          .strides = {numbers.batch_stride, numbers.token_stride, 0, 0}};
}

void write_numbers(const NumbersCase& numbers, const std::vector<long double>& values) {
  const Strided array = without_repeats(strided(numbers));
  if (!is_well_formed(array)) return;
  for_each_element(array, [&](const Axes& index) {
    std::byte* const to = numbers.data + offset_of(array, index);
    const auto batch = static_cast<std::size_t>(index[0]);
    const auto tokens = static_cast<std::size_t>(numbers.counts.tokens);
    // An element of a later row may have an index beyond 64 bits.
    const bool may_be_listed = batch == 0 || tokens <= values.size() / batch;
    const std::size_t at = batch * tokens + static_cast<std::size_t>(index[1]);
    const long double value = may_be_listed && at < values.size() ? values[at] : 0;
    if (numbers.kind == NumberKind::int32) put<std::int32_t>(to, value);
    if (numbers.kind == NumberKind::int64) put<std::int64_t>(to, value);
    if (numbers.kind == NumberKind::f64) put<double>(to, value);
  });
}

long double number_at(const NumbersCase& numbers, std::int64_t batch, std::int64_t token) {
  if (numbers.kind == NumberKind::consecutive) {
    return static_cast<long double>(numbers.first) + static_cast<long double>(token);
  }
  const std::int64_t row = numbers.counts.batch == 1 ? 0 : batch;
  const std::byte* const from = numbers.data + offset_of(strided(numbers), {row, token, 0, 0});
  if (numbers.kind == NumberKind::int32) return get<std::int32_t>(from);
  if (numbers.kind == NumberKind::int64) return get<std::int64_t>(from);
  return get<double>(from);
}

Positions positions_of(const NumbersCase& numbers) {
  switch (numbers.kind) {
    case NumberKind::consecutive:
      return ConsecutivePositions{.first = numbers.first, .tokens = numbers.counts.tokens};
    case NumberKind::int32:
      return array_of<std::int32_t>(numbers);
    case NumberKind::int64:
      return array_of<std::int64_t>(numbers);
    case NumberKind::f64:
      return array_of<double>(numbers);
  }
  fail("a kind of numbers must be known");
}

Slots slots_of(const NumbersCase& numbers) {
  switch (numbers.kind) {
    case NumberKind::consecutive:
      return ConsecutiveSlots{.first = numbers.first};
    case NumberKind::int32:
      return array_of<std::int32_t>(numbers);
    case NumberKind::int64:
      return array_of<std::int64_t>(numbers);
    case NumberKind::f64:
      break;
  }
  fail("slots must be integers");
}

bool are_positions(const NumbersCase& numbers) {
  const auto& [batch, tokens] = numbers.counts;
  if (batch < 1 || tokens < 0) return false;
  if (numbers.kind == NumberKind::consecutive) {
    const auto last = static_cast<int128>(numbers.first) + std::max<std::int64_t>(tokens, 1) - 1;
    return last <= std::numeric_limits<std::int64_t>::max();
  }
  if (!is_well_formed(strided(numbers))) return false;
  if (tokens > 0 && batch > 1 && numbers.batch_stride == 0) return false;
  return numbers.kind != NumberKind::f64 || are_finite(numbers);
}

}  // namespace rotary::fuzz
