// SPDX-License-Identifier: Apache-2.0
#include "public_calls/operands.hpp"

#include <sys/mman.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <utility>

#include "rotary/shift.hpp"
#include "support/cases.hpp"

namespace rotary::test {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 20;
constexpr std::size_t chunks = 32;

std::byte* map(int protection) {
  void* const memory =
      mmap(nullptr, chunk * chunks, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return static_cast<std::byte*>(memory);
}

// Mapped without operator new, because the tests let its allocations fail.
struct Places {
  std::byte* operands = map(PROT_READ | PROT_WRITE);
  std::byte* originals = map(PROT_READ | PROT_WRITE);
  std::byte* none = map(PROT_NONE);
  std::array<std::size_t, chunks> sizes{};  // in bytes, of the operands so far
  std::size_t count = 0;
};

Places& places() {
  static Places all;
  return all;
}

template <class Number>
std::vector<Number> made_pattern() {
  std::vector<Number> numbers(chunk / sizeof(Number));
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    state = state * 1664525U + 1013904223U;
    if constexpr (std::is_same_v<Number, float>) {
      numbers[i] = static_cast<float>(state) * 0x1p-31F - 1;
    } else if constexpr (std::is_same_v<Number, double>) {
      numbers[i] = static_cast<double>(i) + 0.5;
    } else if constexpr (std::is_same_v<Number, std::uint8_t>) {
      numbers[i] = i % 3 == 2 ? 0 : 1;
    } else {
      numbers[i] = static_cast<Number>(sizeof(Number) == 1 ? i * 37 % 251 : i);
    }
  }
  return numbers;
}

template <class... Number>
const auto& patterns_of() {
  static const std::tuple all(made_pattern<Number>()...);
  return all;
}

// All patterns are made before the first call, whose allocations may fail.
const auto& patterns() {
  return patterns_of<float, double, std::uint8_t, std::int8_t, std::int32_t, std::int64_t>();
}

constexpr std::int64_t far = std::int64_t{1} << 61;

// Returns the stride `reach` and multiplies `reach` by the extent. A long axis has a stride of 0.
std::int64_t stride_of(std::int64_t extent, std::int64_t& reach) {
  if (extent > 5000) return 0;
  return std::exchange(reach, reach * extent);
}

bool has_none(const Extents& n) {
  return n.batch <= 0 || n.tokens <= 0 || n.heads <= 0 || n.features <= 0;
}

template <class Number>
std::pair<Number*, Strides> tensor(const Extents& extents) {
  if (has_none(extents)) return {static_cast<Number*>(untouchable()), {far, -far, far, 1}};
  std::int64_t reach = 1;
  Strides strides;
  strides.feature = stride_of(extents.features, reach);
  strides.head = stride_of(extents.heads, reach);
  strides.token = stride_of(extents.tokens, reach);
  strides.batch = stride_of(extents.batch, reach);
  return {numbers<Number>(reach).data(), strides};
}

}  // namespace

void begin_operands() {
  static_cast<void>(patterns());
  places().count = 0;
}

std::vector<std::byte> operand_bytes() {
  const Places& all = places();
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < all.count; ++i) {
    const std::byte* const first = all.operands + i * chunk;
    bytes.insert(bytes.end(), first, first + all.sizes[i]);
  }
  return bytes;
}

bool operands_are_untouched() {
  const Places& all = places();
  for (std::size_t i = 0; i < all.count; ++i) {
    const std::size_t first = i * chunk;
    if (std::memcmp(all.operands + first, all.originals + first, all.sizes[i]) != 0) return false;
  }
  return true;
}

void* place_of(std::span<const std::byte> bytes) {
  Places& all = places();
  if (all.count == chunks || bytes.size() > chunk) std::abort();
  const std::size_t first = all.count * chunk;
  std::memcpy(all.originals + first, bytes.data(), bytes.size());
  std::memcpy(all.operands + first, bytes.data(), bytes.size());
  all.sizes[all.count++] = bytes.size();
  return all.operands + first;
}

void* untouchable() {
  static std::size_t next = 0;
  return places().none + next++ % chunks * chunk;
}

template <class Number>
std::span<const Number> pattern() {
  return std::get<std::vector<Number>>(patterns());
}

template std::span<const float> pattern();
template std::span<const double> pattern();
template std::span<const std::uint8_t> pattern();
template std::span<const std::int8_t> pattern();
template std::span<const std::int32_t> pattern();
template std::span<const std::int64_t> pattern();

HeadsView heads(const Extents& extents) {
  const auto [data, strides] = tensor<float>(extents);
  return {data, DType::f32, extents, strides};
}

TokensView tokens(const TokenExtents& n) {
  const auto [data, s] = tensor<float>({n.batch, n.tokens, 1, n.features});
  return {data, DType::f32, n, {s.batch, s.token, s.feature}};
}

ScoresView scores(const ScoresExtents& n) {
  const auto [data, s] = tensor<float>({n.batch, n.queries, n.heads, n.keys});
  return {data, DType::f32, n, {s.batch, s.head, s.token, s.feature}};
}

TableView table(std::int64_t rows, std::int64_t features) {
  const auto [data, s] = tensor<float>({1, rows, 1, features});
  return {data, DType::f32, rows, features, s.token, s.feature};
}

QuantizedHeadsView quantized(const Extents& extents) {
  const auto [data, s] = tensor<std::int8_t>(extents);
  return {data, tensor<float>(extents).first, extents, s, {s.batch, s.token, s.head}};
}

CosSinView cos_sin(std::int64_t batch, std::int64_t count) {
  static const std::vector<float> halves(std::size_t{8} * 8 * 8, 0.70710678F);
  const bool exists = batch > 0 && count > 0;
  const bool apart = batch <= 8 && count <= 8;
  const void* const rows = exists ? halves.data() : untouchable();
  return {.cos = rows,
          .sin = rows,
          .dtype = DType::f32,
          .batch = batch,
          .tokens = count,
          .batch_stride = apart ? 8 * count : 0,
          .token_stride = apart ? 8 : 0};
}

HeadWindow window_of_16() { return {.head_dim = 16, .rotary_dim = 16, .pairing = Pairing::half}; }

const Frequencies& frequencies_of_16() {
  static const Frequencies frequencies = frequencies_of(window_of_16());
  return frequencies;
}

Result<Rotations> rotations_for(std::int64_t count) {
  const Frequencies& frequencies = frequencies_of_16();
  return make_shift({frequencies, positions<std::int64_t>(1, count)},
                    {frequencies, positions<std::int64_t>(1, count, 2)});
}

}  // namespace rotary::test
