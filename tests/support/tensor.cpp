// SPDX-License-Identifier: Apache-2.0
#include "support/tensor.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "support/elements.hpp"

namespace rotary::test {
namespace {

constexpr std::int64_t guard_elements = 64;  // at least a cache line on each side

std::byte guard_pattern(std::size_t offset) {
  return static_cast<std::byte>(0xA5U ^ (offset * 37U));
}

Strides strides_of(const Extents& extents, Layout layout) {
  const std::int64_t d = extents.features;
  const std::int64_t h = extents.heads;
  const std::int64_t t = extents.tokens;
  Strides strides = strides_bthd(extents);
  switch (layout) {
    case Layout::bthd:
      break;
    case Layout::bhtd:
      strides = strides_bhtd(extents);
      break;
    case Layout::fused_qkv:
      strides = {.batch = t * 3 * h * d, .token = 3 * h * d, .head = d};
      break;
    case Layout::padded:
      strides.head = d + 3;
      strides.token = h * strides.head + 5;
      strides.batch = t * strides.token + 7;
      break;
    case Layout::reversed_tokens:
      strides.token = -strides.token;
      break;
    case Layout::reversed:
      strides = {.batch = -strides.batch, .token = -strides.token, .head = -d, .feature = -1};
      break;
    case Layout::every_second_feature:
      strides = {.batch = 2 * t * h * d, .token = 2 * h * d, .head = 2 * d, .feature = 2};
      break;
    case Layout::heads_last:
      strides = {.batch = t * h * d, .token = h * d, .head = 1, .feature = h};
      break;
  }
  return strides;
}

struct Reach {
  std::int64_t lowest = 0;  // the lowest element's offset from element (0, 0, 0, 0)
  std::int64_t highest = 0;
};

Reach reach_of(const Extents& extents, const Strides& strides) {
  Reach reach;
  const auto extend = [&reach](std::int64_t extent, std::int64_t stride) {
    const std::int64_t last = std::max<std::int64_t>(extent - 1, 0) * stride;
    reach.lowest += std::min<std::int64_t>(last, 0);
    reach.highest += std::max<std::int64_t>(last, 0);
  };
  extend(extents.batch, strides.batch);
  extend(extents.tokens, strides.token);
  extend(extents.heads, strides.head);
  extend(extents.features, strides.feature);
  return reach;
}

struct Exponents {
  int lowest = 0;
  int highest = 0;
};

Exponents exponents_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::bf16:
      break;
    case DType::f16:
      return {.lowest = -24, .highest = 14};
    case DType::f64:
      return {.lowest = -300, .highest = 299};
  }
  return {.lowest = -30, .highest = 29};
}

}  // namespace

std::string_view to_string(Layout layout) noexcept {
  switch (layout) {
    case Layout::bthd:
      return "bthd";
    case Layout::bhtd:
      return "bhtd";
    case Layout::fused_qkv:
      return "fused_qkv";
    case Layout::padded:
      return "padded";
    case Layout::reversed_tokens:
      return "reversed_tokens";
    case Layout::reversed:
      return "reversed";
    case Layout::every_second_feature:
      return "every_second_feature";
    case Layout::heads_last:
      return "heads_last";
  }
  return "unknown";
}

Tensor::Tensor(const Shape& shape)
    : shape_(shape), strides_(strides_of(shape.extents, shape.layout)) {
  const Reach reach = reach_of(shape.extents, strides_);
  first_element_ = guard_elements - reach.lowest;
  const std::int64_t elements = 2 * guard_elements + reach.highest - reach.lowest + 1;
  bytes_.resize(static_cast<std::size_t>(elements * size_in_bytes(shape.dtype)));
  for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = guard_pattern(i);
  for_each_element(shape.extents,
                   [&](const HeadIndex& index, std::int64_t f) { set_bits(index, f, 0); });
}

HeadsView Tensor::view() noexcept {
  return {.data = bytes_.data() + first_element_ * size_in_bytes(shape_.dtype),
          .dtype = shape_.dtype,
          .extents = shape_.extents,
          .strides = strides_};
}

ConstHeadsView Tensor::view() const noexcept {
  return {.data = bytes_.data() + first_element_ * size_in_bytes(shape_.dtype),
          .dtype = shape_.dtype,
          .extents = shape_.extents,
          .strides = strides_};
}

std::size_t Tensor::byte_offset(const HeadIndex& index, std::int64_t feature) const {
  const std::int64_t element = first_element_ + index.batch * strides_.batch +
                               index.token * strides_.token + index.head * strides_.head +
                               feature * strides_.feature;
  return static_cast<std::size_t>(element * size_in_bytes(shape_.dtype));
}

std::uint64_t Tensor::bits_at(const HeadIndex& index, std::int64_t feature) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes_.data() + byte_offset(index, feature),
              static_cast<std::size_t>(size_in_bytes(shape_.dtype)));
  return bits;
}

double Tensor::at(const HeadIndex& index, std::int64_t feature) const {
  return value_at(shape_.dtype, bytes_.data() + byte_offset(index, feature));
}

void Tensor::set_bits(const HeadIndex& index, std::int64_t feature, std::uint64_t bits) {
  std::memcpy(bytes_.data() + byte_offset(index, feature), &bits,
              static_cast<std::size_t>(size_in_bytes(shape_.dtype)));
}

void Tensor::set(const HeadIndex& index, std::int64_t feature, double value) {
  set_bits(index, feature, bits_of(shape_.dtype, value));
}

std::vector<std::uint64_t> Tensor::all_bits() const {
  std::vector<std::uint64_t> bits;
  for_each_element(shape_.extents, [&](const HeadIndex& index, std::int64_t f) {
    bits.push_back(bits_at(index, f));
  });
  return bits;
}

bool Tensor::guards_intact() const {
  std::vector<char> is_element(bytes_.size(), 0);
  for_each_element(shape_.extents, [&](const HeadIndex& index, std::int64_t f) {
    const auto begin = is_element.begin() + static_cast<std::ptrdiff_t>(byte_offset(index, f));
    std::fill(begin, begin + size_in_bytes(shape_.dtype), 1);
  });
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (is_element[i] == 0 && bytes_[i] != guard_pattern(i)) return false;
  }
  return true;
}

void fill(Tensor& tensor, Random& random) {
  for_each_element(tensor.extents(), [&](const HeadIndex& index, std::int64_t f) {
    tensor.set(index, f, random.unit() * 8 - 4);
  });
}

void fill_with_any_magnitude(Tensor& tensor, Random& random) {
  const Exponents range = exponents_of(std::as_const(tensor).view().dtype);
  for_each_element(tensor.extents(), [&](const HeadIndex& index, std::int64_t f) {
    tensor.set(index, f, random.magnitude(range.lowest, range.highest));
  });
}

void copy_elements(Tensor& dst, const Tensor& src) {
  for_each_element(src.extents(), [&](const HeadIndex& index, std::int64_t f) {
    dst.set_bits(index, f, src.bits_at(index, f));
  });
}

}  // namespace rotary::test
