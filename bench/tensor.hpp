// SPDX-License-Identifier: Apache-2.0
// Packed, normally distributed queries or keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "rotary/tensor_view.hpp"

namespace rotary::bench {

// The order in memory for a batch of 1.
enum class Layout {
  tokens_first,  // [tokens, heads, features], the layout of a projection
  heads_first,   // [heads, tokens, features], the layout of most attention kernels
};

struct AlignedDelete {
  void operator()(std::byte* data) const noexcept {
    ::operator delete[](data, std::align_val_t{64});
  }
};
using AlignedMemory = std::unique_ptr<std::byte[], AlignedDelete>;

[[nodiscard]] inline AlignedMemory aligned_memory(std::size_t bytes) {
  return AlignedMemory(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{64})));
}

// Copies share the memory.
class Tensor {
 public:
  Tensor(DType dtype, const Extents& extents, Layout layout);

  // Fills with normally distributed values. The same seed gives the same values.
  void fill(std::uint64_t seed) const;

  [[nodiscard]] HeadsView view() const {
    return {.data = data_.get(), .dtype = dtype_, .extents = extents_, .strides = strides_};
  }
  [[nodiscard]] std::int64_t bytes() const;

  // Another tensor with the same contents.
  [[nodiscard]] Tensor copy() const;

 private:
  DType dtype_;
  Extents extents_;
  Layout layout_;
  Strides strides_;
  std::shared_ptr<std::byte[]> data_;
};

// Copies the given tokens to [tokens, heads, features]. The view's features must be adjacent.
[[nodiscard]] Tensor gather(const ConstHeadsView& view, std::span<const std::int64_t> tokens);

}  // namespace rotary::bench
