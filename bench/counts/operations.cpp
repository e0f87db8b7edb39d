// SPDX-License-Identifier: Apache-2.0
#include "bench/counts/operations.hpp"

#include <fmt/core.h>

#include <string_view>

#include "bench/tensor.hpp"
#include "rotary/kv_cache.hpp"
#include "rotary/rotate.hpp"
#include "rotary/shift.hpp"

namespace rotary::bench {
namespace {

using Operations = std::vector<CountedOperation>;

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

void add_rotate(Operations& all, std::string_view what, const Tensor& dst, const Tensor& src,
                const Rotations& rows) {
  all.push_back({fmt::format("rotate f32 half, {}, {}", what, tokens_text(rows.tokens())),
                 [dst, src, rows] { return rotate(dst.view(), src.view(), rows); }});
}

void add_rotations(Operations& all, const Frequencies& frequencies, std::int64_t tokens) {
  const Rotations rotations =
      made(make_rotations(frequencies, ConsecutivePositions{.first = 1000, .tokens = tokens}));
  const auto pairing = to_string(frequencies.window.pairing.get());
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    const Tensor q = tensor_of(dtype, query_heads, tokens);
    const Tensor k = tensor_of(dtype, key_heads, tokens);
    all.push_back(
        {fmt::format("rotate_qk {} {}, {}", to_string(dtype), pairing, tokens_text(tokens)),
         [q, k, rotations] { return rotate_qk(q.view(), k.view(), rotations); }});
  }
  if (frequencies.window.pairing != Pairing::half) return;
  const Tensor src = tensor_of(DType::f32, query_heads, tokens);
  add_rotate(all, "out of place", tensor_of(DType::f32, query_heads, tokens), src, rotations);
  add_rotate(all, "to [heads, tokens]",
             tensor_of(DType::f32, query_heads, tokens, Layout::heads_first), src, rotations);
  // A single head shows the cost of the checks.
  add_rotate(all, "one head", tensor_of(DType::f32, 1, tokens), tensor_of(DType::f32, 1, tokens),
             rotations);
}

// Appends keys to a cache [heads, slots, features], then shifts them.
void add_cache(Operations& all, const Frequencies& frequencies, std::int64_t tokens) {
  const ConsecutivePositions positions{.first = 1000, .tokens = tokens};
  const ConsecutivePositions moved{.first = 993, .tokens = tokens};
  const Rotations rotations = made(make_rotations(frequencies, positions));
  const Rotations by = made(make_shift({frequencies, positions}, {frequencies, moved}));
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor k = tensor_of(dtype, key_heads, tokens);
    const Tensor cache = tensor_of(dtype, key_heads, tokens, Layout::heads_first);
    all.push_back({fmt::format("append {} half, {}", to_string(dtype), tokens_text(tokens)),
                   [k, cache, rotations] {
                     return append({.k = cache.view()}, {.k = k.view()}, ConsecutiveSlots{},
                                   {.rotations = &rotations});
                   }});
    all.push_back({fmt::format("shift {} half, {}", to_string(dtype), tokens_text(tokens)),
                   [cache, by] { return shift(cache.view(), by); }});
  }
}

void add_rows(Operations& all, const Frequencies& frequencies, RowDType row_dtype,
              std::int64_t tokens) {
  const ConsecutivePositions positions{.first = 1000, .tokens = tokens};
  const char* const dtype = row_dtype == RowDType::f32 ? "f32" : "f64";
  all.push_back(
      {fmt::format("remake_rotations {}, {}", dtype, tokens_text(tokens)),
       [frequencies, positions,
        rows = made(make_rotations(frequencies, positions, {.rows = row_dtype}))]() mutable {
         return remake_rotations(rows, frequencies, positions);
       }});
}

void add_rows_of(Operations& all, std::string_view name, const Frequencies& frequencies,
                 const std::vector<std::int64_t>& ids, std::int64_t axes) {
  all.push_back({std::string(name),
                 [frequencies, ids, axes,
                  rows = made(make_rotations(frequencies, positions_of(ids, 1, axes)))]() mutable {
                   return remake_rotations(rows, frequencies, positions_of(ids, 1, axes));
                 }});
}

// Makes rows for positions that jump, and for image patches in a grid of 8 columns.
void add_scattered_rows(Operations& all, const Frequencies& frequencies) {
  constexpr std::int64_t tokens = 64;
  const Frequencies of_patches =
      made(make_frequencies({.head_dim = head_dim,
                             .base = 10000,
                             .pairing = Pairing::half,
                             .axes = Axes{.pairs = {32, 32}, .exponents = AxisExponents::own}}));
  std::vector<std::int64_t> jumps;
  std::vector<std::int64_t> patches;
  for (std::int64_t t = 0; t < tokens; ++t) jumps.push_back(37 * t % tokens);
  for (std::int64_t t = 0; t < tokens; ++t) patches.push_back(t / 8);
  for (std::int64_t t = 0; t < tokens; ++t) patches.push_back(t % 8);
  add_rows_of(all, "remake_rotations f32, 64 tokens that jump", frequencies, jumps, 1);
  add_rows_of(all, "remake_rotations f32, 64 patches", of_patches, patches, 2);
  for (std::int64_t& each : jumps) each *= 16;  // now each has its own anchor (kernels.hpp)
  jumps.insert(jumps.end(), jumps.begin(), jumps.end());
  add_rows_of(all, "remake_rotations f32, 64 patches that jump", of_patches, jumps, 2);
}

}  // namespace

Operations counted_operations() {
  Operations all;
  for (const Pairing pairing : {Pairing::half, Pairing::interleaved}) {
    const Frequencies frequencies =
        made(make_frequencies({.head_dim = head_dim, .base = 500000, .pairing = pairing}));
    for (const std::int64_t tokens : {1, 64}) add_rotations(all, frequencies, tokens);
    if (pairing != Pairing::half) continue;  // rows are the same for every pairing
    add_scattered_rows(all, frequencies);
    for (const std::int64_t tokens : {1, 64}) add_cache(all, frequencies, tokens);
    for (const RowDType rows : {RowDType::f32, RowDType::f64}) {
      for (const std::int64_t tokens : {1, 64}) add_rows(all, frequencies, rows, tokens);
    }
  }
  return all;
}

}  // namespace rotary::bench
