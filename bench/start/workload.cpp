// SPDX-License-Identifier: Apache-2.0
#include "bench/start/workload.hpp"

#include <bit>
#include <cstring>
#include <new>
#include <random>

namespace rotary::bench {
namespace {

std::unique_ptr<std::byte[], AlignedDelete> allocate(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  return {static_cast<std::byte*>(::operator new[](size, std::align_val_t{64})), AlignedDelete{}};
}

}  // namespace

Workload::Workload(DType dtype, std::int64_t tokens, std::int64_t head_dim)
    : dtype_(dtype),
      tokens_(tokens),
      head_dim_(head_dim),
      q_(allocate(tokens * query_heads * head_dim * size_in_bytes(dtype))),
      k_(allocate(tokens * key_heads * head_dim * size_in_bytes(dtype))) {
  fill();
}

HeadsView Workload::view(std::byte* data, std::int64_t heads, std::int64_t tokens) const {
  const Extents extents{.batch = 1, .tokens = tokens, .heads = heads, .features = head_dim_};
  return {.data = data, .dtype = dtype_, .extents = extents, .strides = strides_bthd(extents)};
}

void Workload::fill() {
  std::mt19937_64 random(2104'09864);
  std::normal_distribution<float> normal;
  for (const HeadsView& each : {q(tokens_), k(tokens_)}) {
    const std::int64_t count = each.extents.tokens * each.extents.heads * each.extents.features;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(normal(random));
      const auto upper = static_cast<std::uint16_t>(bits >> 16);
      if (dtype_ == DType::bf16) {
        std::memcpy(static_cast<std::uint16_t*>(each.data) + i, &upper, sizeof upper);
      } else {
        std::memcpy(static_cast<float*>(each.data) + i, &bits, sizeof bits);
      }
    }
  }
}

Workload Workload::copy() const {
  Workload other(dtype_, 0, head_dim_);
  other.tokens_ = tokens_;
  const std::int64_t size = tokens_ * head_dim_ * size_in_bytes(dtype_);
  other.q_ = allocate(size * query_heads);
  other.k_ = allocate(size * key_heads);
  std::memcpy(other.q_.get(), q_.get(), static_cast<std::size_t>(size * query_heads));
  std::memcpy(other.k_.get(), k_.get(), static_cast<std::size_t>(size * key_heads));
  return other;
}

}  // namespace rotary::bench
