// SPDX-License-Identifier: Apache-2.0
// Copies bytes from a table made once, starting where the seed says. An input costs only a copy.
#include "fuzz/noise.hpp"

#include <array>
#include <cstring>
#include <vector>

#include "check/rotated.hpp"
#include "tests/support/elements.hpp"

namespace rotary::fuzz {
namespace {

constexpr std::size_t table_bytes = std::size_t{1} << 18;
constexpr std::size_t table_elements = table_bytes / 8;

// splitmix64 (Steele et al. 2014).
std::uint64_t next(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15U;
  std::uint64_t bits = state;
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

std::vector<std::byte> make_table(DType dtype, Noise noise) {
  std::vector<std::byte> table(table_bytes);
  std::uint64_t state = 1;
  const auto size = static_cast<std::size_t>(size_in_bytes(dtype));
  for (std::size_t i = 0; i < table_bytes / size; ++i) {
    std::uint64_t bits = next(state);
    if (noise == Noise::activations) {
      const double number = static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-61;
      bits = test::bits_of(dtype, check::rounded(dtype, number));
    }
    std::memcpy(table.data() + i * size, &bits, size);  // little endian: the lowest bytes
  }
  return table;
}

const std::vector<std::byte>& table_of(DType dtype, Noise noise) {
  static std::array<std::vector<std::byte>, 16> tables;
  auto& table = tables[static_cast<std::size_t>(dtype) * 2 + (noise == Noise::any ? 1 : 0)];
  if (table.empty()) table = make_table(dtype, noise);
  return table;
}

}  // namespace

void fill(std::span<std::byte> elements, DType dtype, Noise noise, std::uint64_t seed) {
  const auto& table = table_of(size_in_bytes(dtype) == 0 ? DType::f32 : dtype, noise);
  const std::size_t first = seed % table_elements * 8;
  std::size_t from = first;
  for (std::size_t at = 0; at < elements.size(); from = 0) {
    const std::size_t count = std::min(elements.size() - at, table.size() - from);
    std::memcpy(elements.data() + at, table.data() + from, count);
    at += count;
  }
}

}  // namespace rotary::fuzz
