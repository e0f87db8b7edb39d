// SPDX-License-Identifier: Apache-2.0
#include "bench/counts/operations.hpp"

#include <fmt/core.h>

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "rotary/kv_cache.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shift.hpp"

namespace rotary::bench {
namespace {

constexpr std::int64_t query_heads = 32;
constexpr std::int64_t key_heads = 8;
constexpr std::int64_t head_dim = 128;

enum class Layout { tokens_first, heads_first };

struct Shape {
  DType dtype;
  std::int64_t heads;
  std::int64_t tokens;
  Layout layout = Layout::tokens_first;
};

struct AlignedDelete {
  void operator()(std::byte* data) const noexcept {
    ::operator delete[](data, std::align_val_t{64});
  }
};

// Zeros: no kernel's work depends on the numbers it rotates.
class Tensor {
 public:
  explicit Tensor(Shape shape)
      : extents_{.tokens = shape.tokens, .heads = shape.heads, .features = head_dim},
        dtype_(shape.dtype),
        strides_(shape.layout == Layout::tokens_first ? strides_bthd(extents_)
                                                      : strides_bhtd(extents_)) {
    const auto bytes = static_cast<std::size_t>(shape.tokens * shape.heads * head_dim *
                                                size_in_bytes(shape.dtype));
    data_.reset(new (std::align_val_t{64}) std::byte[bytes]());
  }

  [[nodiscard]] HeadsView view() const {
    return {.data = data_.get(), .dtype = dtype_, .extents = extents_, .strides = strides_};
  }

 private:
  Extents extents_;
  DType dtype_;
  Strides strides_;
  std::shared_ptr<std::byte[]> data_{nullptr, AlignedDelete{}};
};

std::string tokens_text(std::int64_t tokens) {
  return fmt::format("{} token{}", tokens, tokens == 1 ? "" : "s");
}

class Operations {
 public:
  Status add_all() {
    for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
      auto frequencies =
          make_frequencies({.head_dim = head_dim, .base = 500000, .pairing = pairing});
      if (!frequencies) return std::move(frequencies).error();
      for (const std::int64_t tokens : {1, 64}) {
        if (auto status = add_rotations(*frequencies, tokens); !status) return status;
      }
      if (pairing != Pairing::half) continue;  // rows are alike for every pairing
      for (const std::int64_t tokens : {1, 64}) {
        if (auto status = add_cache(*frequencies, tokens); !status) return status;
      }
      for (const RowDType rows : {RowDType::f32, RowDType::f64}) {
        for (const std::int64_t tokens : {1, 64}) {
          if (auto status = add_rows(*frequencies, rows, tokens); !status) return status;
        }
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<CountedOperation> take() && { return std::move(all_); }

 private:
  Status add_rotations(const Frequencies& frequencies, std::int64_t tokens) {
    auto rotations =
        make_rotations(frequencies, ConsecutivePositions{.first = 1000, .tokens = tokens});
    if (!rotations) return std::move(rotations).error();
    const auto pairing = to_string(frequencies.window.pairing.get());
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const Tensor q({.dtype = dtype, .heads = query_heads, .tokens = tokens});
      const Tensor k({.dtype = dtype, .heads = key_heads, .tokens = tokens});
      all_.push_back(
          {fmt::format("rotate_qk {} {}, {}", to_string(dtype), pairing, tokens_text(tokens)),
           [q, k, rows = *rotations] { return rotate_qk(q.view(), k.view(), rows); }});
    }
    if (frequencies.window.pairing != Pairing::half) return {};
    const Shape shape{.dtype = DType::f32, .heads = query_heads, .tokens = tokens};
    Shape by_head = shape;
    by_head.layout = Layout::heads_first;
    add_rotate("out of place", {shape, shape}, *rotations);
    add_rotate("to [heads, tokens]", {by_head, shape}, *rotations);
    // One head: shows the cost of the checks.
    const Shape one_head{.dtype = DType::f32, .heads = 1, .tokens = tokens};
    add_rotate("one head", {one_head, one_head}, *rotations);
    return {};
  }

  void add_rotate(std::string_view what, std::pair<Shape, Shape> to_and_from,
                  const Rotations& rows) {
    const Tensor dst(to_and_from.first);
    const Tensor src(to_and_from.second);
    all_.push_back(
        {fmt::format("rotate f32 half, {}, {}", what, tokens_text(to_and_from.first.tokens)),
         [dst, src, rows] { return rotate(dst.view(), src.view(), rows); }});
  }

  // Appends keys to a cache [heads, slots, features] and shifts them there by one row for all.
  Status add_cache(const Frequencies& frequencies, std::int64_t tokens) {
    const ConsecutivePositions positions{.first = 1000, .tokens = tokens};
    auto rotations = make_rotations(frequencies, positions);
    if (!rotations) return std::move(rotations).error();
    const ConsecutivePositions moved{.first = 993, .tokens = tokens};
    auto by = make_shift({frequencies, positions}, {frequencies, moved});
    if (!by) return std::move(by).error();
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor k({.dtype = dtype, .heads = key_heads, .tokens = tokens});
      const Tensor cache(
          {.dtype = dtype, .heads = key_heads, .tokens = tokens, .layout = Layout::heads_first});
      all_.push_back({fmt::format("append {} half, {}", to_string(dtype), tokens_text(tokens)),
                      [k, cache, rows = *rotations] {
                        return append({.k = cache.view()}, {.k = k.view()}, ConsecutiveSlots{},
                                      rows);
                      }});
      all_.push_back({fmt::format("shift {} half, {}", to_string(dtype), tokens_text(tokens)),
                      [cache, rows = *by] { return shift(cache.view(), rows); }});
    }
    return {};
  }

  Status add_rows(const Frequencies& frequencies, RowDType row_dtype, std::int64_t tokens) {
    const ConsecutivePositions positions{.first = 1000, .tokens = tokens};
    auto rows = make_rotations(frequencies, positions, {.rows = row_dtype});
    if (!rows) return std::move(rows).error();
    const char* const dtype = row_dtype == RowDType::f32 ? "f32" : "f64";
    all_.push_back({fmt::format("remake_rotations {}, {}", dtype, tokens_text(tokens)),
                    [frequencies, positions, made = std::move(*rows)]() mutable {
                      return remake_rotations(made, frequencies, positions);
                    }});
    return {};
  }

  std::vector<CountedOperation> all_;
};

}  // namespace

Result<std::vector<CountedOperation>> counted_operations() {
  Operations operations;
  if (auto status = operations.add_all(); !status) return std::move(status).error();
  return std::move(operations).take();
}

}  // namespace rotary::bench
