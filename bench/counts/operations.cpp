// SPDX-License-Identifier: Apache-2.0
#include "bench/counts/operations.hpp"

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/tensor.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shift.hpp"

namespace rotary::bench {
namespace {

constexpr std::int64_t query_heads = 32;
constexpr std::int64_t key_heads = 8;
constexpr std::int64_t head_dim = 128;

// All tensors have the same seed, because values do not change any kernel's work.
Tensor tensor_of(DType dtype, std::int64_t heads, std::int64_t tokens,
                 Layout layout = Layout::tokens_first) {
  const Extents extents{.tokens = tokens, .heads = heads, .features = head_dim};
  Tensor tensor(dtype, extents, layout);
  tensor.fill(1);
  return tensor;
}

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
      if (pairing != Pairing::half) continue;  // rows are the same for every pairing
      if (auto status = add_scattered_rows(*frequencies); !status) return status;
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
      const Tensor q = tensor_of(dtype, query_heads, tokens);
      const Tensor k = tensor_of(dtype, key_heads, tokens);
      all_.push_back(
          {fmt::format("rotate_qk {} {}, {}", to_string(dtype), pairing, tokens_text(tokens)),
           [q, k, rows = *rotations] { return rotate_qk(q.view(), k.view(), rows); }});
    }
    if (frequencies.window.pairing != Pairing::half) return {};
    const Tensor src = tensor_of(DType::f32, query_heads, tokens);
    add_rotate("out of place", tensor_of(DType::f32, query_heads, tokens), src, *rotations);
    add_rotate("to [heads, tokens]",
               tensor_of(DType::f32, query_heads, tokens, Layout::heads_first), src, *rotations);
    // A single head shows the cost of the checks.
    add_rotate("one head", tensor_of(DType::f32, 1, tokens), tensor_of(DType::f32, 1, tokens),
               *rotations);
    return {};
  }

  void add_rotate(std::string_view what, const Tensor& dst, const Tensor& src,
                  const Rotations& rows) {
    all_.push_back({fmt::format("rotate f32 half, {}, {}", what, tokens_text(rows.tokens())),
                    [dst, src, rows] { return rotate(dst.view(), src.view(), rows); }});
  }

  // Appends keys to a cache [heads, slots, features], then shifts them.
  Status add_cache(const Frequencies& frequencies, std::int64_t tokens) {
    const ConsecutivePositions positions{.first = 1000, .tokens = tokens};
    auto rotations = make_rotations(frequencies, positions);
    if (!rotations) return std::move(rotations).error();
    const ConsecutivePositions moved{.first = 993, .tokens = tokens};
    auto by = make_shift({frequencies, positions}, {frequencies, moved});
    if (!by) return std::move(by).error();
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor k = tensor_of(dtype, key_heads, tokens);
      const Tensor cache = tensor_of(dtype, key_heads, tokens, Layout::heads_first);
      all_.push_back({fmt::format("append {} half, {}", to_string(dtype), tokens_text(tokens)),
                      [k, cache, rows = *rotations] {
                        return append({.k = cache.view()}, {.k = k.view()}, ConsecutiveSlots{},
                                      {.rotations = &rows});
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

  // Makes rows for positions that jump, and for image patches in a grid of 8 columns.
  Status add_scattered_rows(const Frequencies& frequencies) {
    constexpr std::int64_t tokens = 64;
    const RotarySpec tower{.head_dim = head_dim,
                           .base = 10000,
                           .pairing = Pairing::half,
                           .axes = Axes{.pairs = {32, 32}, .exponents = AxisExponents::own}};
    auto of_patches = make_frequencies(tower);
    if (!of_patches) return std::move(of_patches).error();
    std::vector<std::int64_t> jumps;
    std::vector<std::int64_t> patches;
    for (std::int64_t t = 0; t < tokens; ++t) jumps.push_back(37 * t % tokens);
    for (std::int64_t t = 0; t < tokens; ++t) patches.push_back(t / 8);
    for (std::int64_t t = 0; t < tokens; ++t) patches.push_back(t % 8);
    auto status = add_rows_of("remake_rotations f32, 64 tokens that jump", frequencies, jumps, 1);
    if (!status) return status;
    status = add_rows_of("remake_rotations f32, 64 patches", *of_patches, patches, 2);
    if (!status) return status;
    for (std::int64_t& each : jumps) each *= 16;  // now each has its own anchor (kernels.hpp)
    jumps.insert(jumps.end(), jumps.begin(), jumps.end());
    return add_rows_of("remake_rotations f32, 64 patches that jump", *of_patches, jumps, 2);
  }

  Status add_rows_of(std::string_view name, const Frequencies& frequencies,
                     const std::vector<std::int64_t>& ids, std::int64_t axes) {
    auto rows = make_rotations(frequencies, positions_of(ids, 1, axes));
    if (!rows) return std::move(rows).error();
    all_.push_back({std::string(name), [frequencies, ids, axes, made = std::move(*rows)]() mutable {
                      return remake_rotations(made, frequencies, positions_of(ids, 1, axes));
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
