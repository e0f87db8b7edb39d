// SPDX-License-Identifier: Apache-2.0
// Memory, tensors and frequencies on the host and on the device.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "c_api/handles.hpp"
#include "rotary/rotary.hpp"
#include "rotary/rotary_cuda.h"
#include "tests/support/tensor.hpp"

namespace rotary::cuda_tests {

[[nodiscard]] inline bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

inline void expect_success(cudaError_t error) {
  ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error);
}

inline void expect_ok(rotary_status status) { ASSERT_EQ(status, ROTARY_OK) << rotary_last_error(); }

[[nodiscard]] inline rotary_heads_view struct_of(const ConstHeadsView& from) {
  rotary_heads_view to = ROTARY_HEADS_VIEW_INIT;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): C has one struct for both
  to.data = const_cast<void*>(from.data);
  to.dtype = static_cast<std::int32_t>(from.dtype);
  const auto& [n, s] = std::pair(from.extents, from.strides);
  const std::int64_t extents[] = {n.batch, n.tokens, n.heads, n.features};
  const std::int64_t strides[] = {s.batch, s.token, s.head, s.feature};
  std::memcpy(to.extents, extents, sizeof extents);
  std::memcpy(to.strides, strides, sizeof strides);
  return to;
}

[[nodiscard]] inline rotary_window struct_of(const HeadWindow& from) {
  rotary_window to = ROTARY_WINDOW_INIT;
  to.head_dim = from.head_dim;
  to.rotary_dim = from.rotary_dim;
  to.first_feature = from.first_feature;
  to.pairing = static_cast<std::int32_t>(from.pairing.get());
  to.blocks = from.blocks;
  return to;
}

// Struct: rotary_positions or rotary_slots, whose kinds have equal values.
template <class Struct, class Number>
void fill(Struct& to, const TokenArray<Number>& from) {
  to.kind = std::is_same_v<Number, double> ? ROTARY_POSITIONS_F64
            : sizeof(Number) == 4          ? ROTARY_POSITIONS_INT32
                                           : ROTARY_POSITIONS_INT64;
  to.data = from.data;
  to.batch = from.batch;
  to.tokens = from.tokens;
  to.batch_stride = from.batch_stride;
  to.token_stride = from.token_stride;
  if constexpr (requires { to.axes; }) {
    to.axes = from.axes;
    to.axis_stride = from.axis_stride;
  }
}
static_assert(int{ROTARY_POSITIONS_INT32} == int{ROTARY_SLOTS_INT32});
static_assert(int{ROTARY_POSITIONS_INT64} == int{ROTARY_SLOTS_INT64});
inline void fill(rotary_positions& to, const ConsecutivePositions& from) {
  to.first = from.first;
  to.tokens = from.tokens;
}
inline void fill(rotary_slots& to, const ConsecutiveSlots& from) { to.first = from.first; }

[[nodiscard]] inline rotary_positions struct_of(const Positions& from) {
  rotary_positions to = ROTARY_POSITIONS_INIT;
  std::visit([&](const auto& each) { fill(to, each); }, from);
  return to;
}
[[nodiscard]] inline rotary_slots struct_of(const Slots& from) {
  rotary_slots to = ROTARY_SLOTS_INIT;
  std::visit([&](const auto& each) { fill(to, each); }, from);
  return to;
}

// A copy of bytes in the device's memory.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> bytes) : size_(bytes.size()) {
    expect_success(cudaMalloc(&device_, size_ + 1));
    expect_success(cudaMemcpy(device_, bytes.data(), size_, cudaMemcpyHostToDevice));
  }
  template <class Number>
  explicit Bytes(const std::vector<Number>& numbers) : Bytes(std::as_bytes(std::span(numbers))) {}
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { (void)cudaFree(device_); }

  [[nodiscard]] std::byte* device() const { return static_cast<std::byte*>(device_); }
  void copy_to(void* memory) const {
    expect_success(cudaMemcpy(memory, device_, size_, cudaMemcpyDeviceToHost));
  }

 private:
  std::size_t size_;
  void* device_ = nullptr;
};

using test::all_layouts;
using test::Layout;
using test::Random;

[[nodiscard]] inline std::int64_t one_of(Random& random, std::int64_t least, std::int64_t most) {
  return random.integer(least, most);
}
template <class Value, std::size_t Count>
[[nodiscard]] Value one_of(Random& random, const Value (&values)[Count]) {
  return values[static_cast<std::size_t>(one_of(random, 0, static_cast<std::int64_t>(Count) - 1))];
}
template <class Value, std::size_t Count>
[[nodiscard]] Value one_of(Random& random, const std::array<Value, Count>& values) {
  return values[static_cast<std::size_t>(one_of(random, 0, static_cast<std::int64_t>(Count) - 1))];
}

// Random heads on the host, and a copy of their memory on the device.
class Tensor {
 public:
  Tensor(Random& random, DType dtype, const Extents& extents, Layout layout)
      : host_(filled(random, {dtype, extents, layout})), bytes_(host_.bytes()) {}

  [[nodiscard]] HeadsView host() { return host_.view(); }
  [[nodiscard]] HeadsView on_device() {
    HeadsView view = host_.view();
    view.data = bytes_.device() + first_byte(host_);
    return view;
  }
  [[nodiscard]] rotary_heads_view device() { return struct_of(on_device()); }
  [[nodiscard]] const test::Tensor& on_host() const { return host_; }
  [[nodiscard]] test::Tensor from_device() const {
    test::Tensor seen = host_;
    bytes_.copy_to(static_cast<std::byte*>(seen.view().data) - first_byte(seen));
    return seen;
  }
  // True if the device has the host's bytes, including those between elements.
  [[nodiscard]] bool agree() const { return from_device().bytes() == host_.bytes(); }

 private:
  static test::Tensor filled(Random& random, const test::Shape& shape) {
    test::Tensor tensor(shape);
    fill(tensor, random);
    return tensor;
  }
  static std::ptrdiff_t first_byte(const test::Tensor& tensor) {
    return static_cast<const std::byte*>(tensor.view().data) - tensor.bytes().data();
  }

  test::Tensor host_;
  Bytes bytes_;
};

// Positions or slots, [axes][batch][tokens], int32 or int64.
class Numbers {
 public:
  template <class Number>
  Numbers(const std::vector<Number>& numbers, std::int64_t batch, std::int64_t axes = 1)
      : is_narrow_(sizeof(Number) == 4),
        batch_(batch),
        axes_(axes),
        tokens_(static_cast<std::int64_t>(numbers.size()) / batch / axes),
        host_(sizeof(Number) * numbers.size()),
        bytes_(std::make_unique<Bytes>(numbers)) {
    std::memcpy(host_.data(), numbers.data(), host_.size());
  }

  [[nodiscard]] Positions host() const {
    if (is_narrow_) return array<std::int32_t>();
    return array<std::int64_t>();
  }
  [[nodiscard]] Slots slots() const {
    if (is_narrow_) return array<std::int32_t>();
    return array<std::int64_t>();
  }
  [[nodiscard]] rotary_positions device() const {
    rotary_positions to = struct_of(host());
    to.data = bytes_->device();
    return to;
  }
  [[nodiscard]] rotary_slots device_slots() const {
    rotary_slots to = struct_of(slots());
    to.data = bytes_->device();
    return to;
  }
  [[nodiscard]] Bytes& bytes() { return *bytes_; }

 private:
  template <class Number>
  [[nodiscard]] TokenArray<Number> array() const {
    return {.data = reinterpret_cast<const Number*>(host_.data()),
            .batch = batch_,
            .tokens = tokens_,
            .batch_stride = tokens_,
            .axes = axes_,
            .axis_stride = batch_ * tokens_};
  }

  bool is_narrow_;
  std::int64_t batch_;
  std::int64_t axes_;
  std::int64_t tokens_;
  std::vector<std::byte> host_;
  std::unique_ptr<Bytes> bytes_;
};

struct Free {
  void operator()(rotary_cuda_frequencies* of) const { rotary_cuda_frequencies_free(of); }
};
using DeviceFrequencies = std::unique_ptr<rotary_cuda_frequencies, Free>;

// The same frequencies in C++ and on the device.
class BothFrequencies {
 public:
  BothFrequencies(const HeadWindow& window, const std::vector<double>& inv_freq, double factor,
                  const PairAxes& axes = {})
      : host_(*make_frequencies(window, inv_freq, factor, axes)) {
    const rotary_frequencies handle{host_};
    rotary_cuda_frequencies* on_device = nullptr;
    expect_ok(rotary_cuda_frequencies_make(&handle, &on_device));
    device_.reset(on_device);
  }

  [[nodiscard]] const Frequencies& host() const { return host_; }
  [[nodiscard]] const rotary_cuda_frequencies* device() const { return device_.get(); }

 private:
  Frequencies host_;
  DeviceFrequencies device_;
};

[[nodiscard]] inline std::vector<double> powers(std::int64_t pairs, double base) {
  std::vector<double> inv_freq;
  for (std::int64_t i = 0; i < pairs; ++i) {
    inv_freq.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs)));
  }
  return inv_freq;
}

}  // namespace rotary::cuda_tests
