// SPDX-License-Identifier: Apache-2.0
// Queries or keys in a buffer, in any layout that models use. All other bytes of the buffer are
// guards: before, after and, in strided layouts, between elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/tensor.hpp"
#include "rotary/tensor_view.hpp"
#include "support/random.hpp"

namespace rotary::test {

using reference::HeadIndex;

enum class Layout {
  bthd,
  bhtd,
  fused_qkv,             // the k slot of [B, T, 3, H, D]
  padded,                // bthd with unused elements after each head, token and batch row
  reversed_tokens,       // bthd with tokens reversed
  reversed,              // bthd with all axes reversed
  every_second_feature,  // bthd with feature stride 2
  heads_last,            // [B, T, D, H]
};

inline constexpr std::array all_layouts = {Layout::bthd,
                                           Layout::bhtd,
                                           Layout::fused_qkv,
                                           Layout::padded,
                                           Layout::reversed_tokens,
                                           Layout::reversed,
                                           Layout::every_second_feature,
                                           Layout::heads_last};

[[nodiscard]] std::string_view to_string(Layout layout) noexcept;

struct Shape {
  DType dtype = DType::f32;
  Extents extents;
  Layout layout = Layout::bthd;
};

class Tensor {
 public:
  explicit Tensor(const Shape& shape);  // every element is 0

  [[nodiscard]] HeadsView view() noexcept;
  [[nodiscard]] ConstHeadsView view() const noexcept;
  [[nodiscard]] const Extents& extents() const noexcept { return shape_.extents; }

  [[nodiscard]] double at(const HeadIndex& index, std::int64_t feature) const;
  [[nodiscard]] std::uint64_t bits_at(const HeadIndex& index, std::int64_t feature) const;
  void set_bits(const HeadIndex& index, std::int64_t feature, std::uint64_t bits);
  void set(const HeadIndex& index, std::int64_t feature, double value);  // rounds to nearest even

  // The bits of all elements, [batch][tokens][heads][features].
  [[nodiscard]] std::vector<std::uint64_t> all_bits() const;
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool guards_intact() const;

 private:
  [[nodiscard]] std::size_t byte_offset(const HeadIndex& index, std::int64_t feature) const;

  Shape shape_;
  Strides strides_;
  std::int64_t first_element_ = 0;  // element (0, 0, 0, 0), from the start of bytes_
  std::vector<std::byte> bytes_;
};

// Calls visit(index, feature) for every element of extents.
template <class Visit>
void for_each_element(const Extents& extents, Visit visit) {
  for (std::int64_t b = 0; b < extents.batch; ++b) {
    for (std::int64_t t = 0; t < extents.tokens; ++t) {
      for (std::int64_t h = 0; h < extents.heads; ++h) {
        for (std::int64_t f = 0; f < extents.features; ++f) {
          visit(HeadIndex{.batch = b, .token = t, .head = h}, f);
        }
      }
    }
  }
}

void fill(Tensor& tensor, Random& random);  // uniform in [-4, 4)

// Magnitudes 2^-30 .. 2^30, for f16 2^-24 .. 2^15, for f64 2^-300 .. 2^300.
void fill_with_any_magnitude(Tensor& tensor, Random& random);

// Copies elements into another layout; extents and dtype must match.
void copy_elements(Tensor& dst, const Tensor& src);

}  // namespace rotary::test
