// SPDX-License-Identifier: Apache-2.0
#include "bench/tensor.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace rotary::bench {
namespace {

// A large tensor repeats this many numbers, because drawing a number costs more than rotating it.
// Not a power of 2, so that heads and tokens differ.
constexpr std::int64_t drawn_values = 65'537;

// Truncates to 11 bits of significand. Numbers outside f16's normal range become 0.
std::uint16_t to_f16(std::uint32_t float_bits) {
  const std::uint32_t exponent = (float_bits >> 23) & 255;
  const std::uint32_t sign = float_bits >> 31 << 15;
  if (exponent < 113 || exponent > 142) return static_cast<std::uint16_t>(sign);
  return static_cast<std::uint16_t>(sign | (exponent - 112) << 10 | (float_bits >> 13 & 1023));
}

void store(DType dtype, float value, std::byte* at) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto double_value = static_cast<double>(value);
  const auto bf16 = static_cast<std::uint16_t>(bits >> 16);
  const std::uint16_t f16 = to_f16(bits);
  switch (dtype) {
    case DType::f32:
      std::memcpy(at, &value, sizeof value);
      break;
    case DType::bf16:
      std::memcpy(at, &bf16, sizeof bf16);
      break;
    case DType::f16:
      std::memcpy(at, &f16, sizeof f16);
      break;
    case DType::f64:
      std::memcpy(at, &double_value, sizeof double_value);
      break;
  }
}

}  // namespace

Tensor::Tensor(DType dtype, const Extents& extents, Layout layout)
    : dtype_(dtype),
      extents_(extents),
      layout_(layout),
      strides_(layout == Layout::tokens_first ? strides_bthd(extents) : strides_bhtd(extents)),
      data_(aligned_memory(static_cast<std::size_t>(bytes()))) {}

std::int64_t Tensor::bytes() const {
  return extents_.batch * extents_.tokens * extents_.heads * extents_.features *
         size_in_bytes(dtype_);
}

void Tensor::fill(std::uint64_t seed) const {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  const std::int64_t size = size_in_bytes(dtype_);
  const std::int64_t drawn = std::min(bytes(), drawn_values * size);
  for (std::int64_t at = 0; at < drawn; at += size) store(dtype_, normal(random), data_.get() + at);
  for (std::int64_t filled = drawn; filled < bytes();) {
    const std::int64_t more = std::min(drawn, bytes() - filled);
    std::memcpy(data_.get() + filled, data_.get(), static_cast<std::size_t>(more));
    filled += more;
  }
}

Tensor Tensor::copy() const {
  Tensor other(dtype_, extents_, layout_);
  std::memcpy(other.data_.get(), data_.get(), static_cast<std::size_t>(bytes()));
  return other;
}

Tensor gather(const ConstHeadsView& view, std::span<const std::int64_t> tokens) {
  const Extents extents{.batch = 1,
                        .tokens = static_cast<std::int64_t>(tokens.size()),
                        .heads = view.extents.heads,
                        .features = view.extents.features};
  Tensor gathered(view.dtype, extents, Layout::tokens_first);
  const std::int64_t size = size_in_bytes(view.dtype);
  const std::int64_t row = extents.features * size;
  auto* to = static_cast<std::byte*>(gathered.view().data);
  for (const std::int64_t token : tokens) {
    for (std::int64_t head = 0; head < extents.heads; ++head, to += row) {
      const std::int64_t at = token * view.strides.token + head * view.strides.head;
      std::memcpy(to, static_cast<const std::byte*>(view.data) + at * size,
                  static_cast<std::size_t>(row));
    }
  }
  return gathered;
}

}  // namespace rotary::bench
